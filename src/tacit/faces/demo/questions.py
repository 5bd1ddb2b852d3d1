"""The questions of the demo, in DP-SELECT; beside each the SQL of its true answer, which only the owner may ask."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question, why it is asked, and its truth. `truth` None: there is nothing to compare with.

    The first `keys` columns of both are what is grouped by.
    """

    title: str
    why: str
    sql: str
    truth: str | None = None
    keys: int = 0


TAX = (
    Question(
        "How many politicians are there?",
        "The simplest arithmetic query, COUNT with a condition. One person changes it by one.",
        "DP-SELECT 0.1 COUNT(salary) AS politicians FROM people WHERE prof = 'Politician'",
        "SELECT COUNT(salary) FROM people WHERE prof = 'Politician'",
    ),
    Question(
        "What is the average salary?",
        "Example 10. A noisy sum over a noisy count: the true number of people is never used. With noise added by each"
        " person (the local model) the error would be about a thousand times as large, √n for a million people.",
        "DP-SELECT 0.4 AVG(salary) AS average FROM people",
        "SELECT AVG(salary) FROM people",
    ),
    Question(
        "What do policemen earn together?",
        "SUM with a condition. The bound 300,000 comes from the policy: read off the data it would betray the richest.",
        "DP-SELECT 0.4 SUM(salary) AS total FROM people WHERE prof = 'Policeman'",
        "SELECT SUM(salary) FROM people WHERE prof = 'Policeman'",
    ),
    Question(
        "How many work in each profession, and what do they earn?",
        "The professions are public, so every one is shown. Both columns come for one price.",
        "DP-SELECT 0.5 prof, COUNT(*) AS people, AVG(salary) AS average FROM people GROUP BY prof ORDER BY people DESC",
        "SELECT prof, COUNT(*), AVG(salary) FROM people GROUP BY prof",
        keys=1,
    ),
    Question(
        "What are the deposits in postcode 1001?",
        "Sara Lee lives there, and owes a billion. Like everyone she is clamped to the policy's bounds, so that she"
        " cannot move the answer by more than its noise covers. It is a billion off, and that is her privacy.",
        "DP-SELECT 0.4 SUM(deposits) AS deposits FROM people WHERE postcode = '1001'",
        "SELECT SUM(deposits) FROM people WHERE postcode = '1001'",
    ),
    Question(
        "Where do people live?",
        "Postcodes are not public here, so one is shown only if many share it: 6732, where the time traveller lives"
        " alone, would be shown with a chance of at most δ.",
        "DP-SELECT 0.4 DELTA 1e-7 postcode, COUNT(*) AS people FROM people GROUP BY postcode"
        " ORDER BY people DESC LIMIT 12",
        "SELECT postcode, COUNT(*) FROM people GROUP BY postcode",
        keys=1,
    ),
    Question(
        "How old is the median person, and where do the top ten per cent of salaries begin?",
        "The exponential mechanism chooses a value of the public grid close to the wanted rank.",
        "DP-SELECT 0.4 MEDIAN(age) AS median_age, QUANTILE(salary, 0.9) AS high_salary FROM people",
        "SELECT MEDIAN(age), QUANTILE_DISC(salary, 0.9) FROM people",
    ),
    Question(
        "And how many people altogether?",
        "The counts by profession were paid for. Added up they are better than what ε = 0.01 buys, and cost nothing.",
        "DP-SELECT 0.01 COUNT(*) AS people FROM people",
        "SELECT COUNT(*) FROM people",
    ),
    Question(
        "Show me Li Pu's row.",
        "Rows are people. Who asks for rows gets synthetic ones, made of public values alone, which names are not:"
        " it is refused, free.",
        "DP-SELECT 0.1 DELTA 1e-7 name, deposits FROM people WHERE name = 'Li Pu'",
    ),
    Question(
        "One more average, please.",
        "The budget is what everything together may reveal. It is exact, and it ends.",
        "DP-SELECT 0.5 AVG(deposits) AS deposits FROM people",
    ),
)
CLINIC = (
    Question(
        "Does smoking cause cancer?",
        "Doll and Hill, 1954. What smoking does to people is learnt; what any one of them has, is not.",
        "DP-SELECT 0.5 smoker, AVG(CASE WHEN diagnosis = 'lung cancer' THEN 100 ELSE 0 END) AS percent"
        " FROM visits GROUP BY smoker",
        "SELECT smoker, AVG(CASE WHEN diagnosis = 'lung cancer' THEN 100 ELSE 0 END) FROM visits GROUP BY smoker",
        keys=1,
    ),
    Question(
        "When do people come?",
        "A patient has several visits and is hidden with all of them: at most 8 in a month count, and more than 8"
        " months are weighed down. What is beyond the caps is missing in the answer; the noise is what ± says.",
        "DP-SELECT 0.5 DATE_TRUNC('month', day) AS month, COUNT(*) AS visits FROM visits GROUP BY 1 ORDER BY 1",
        "SELECT CAST(DATE_TRUNC('month', day) AS DATE), COUNT(*) FROM visits GROUP BY 1",
        keys=1,
    ),
    Question(
        "What do they have?",
        "One patient has kuru. A disease is shown only if many share it, so kuru is not, but for a chance of δ.",
        "DP-SELECT 0.5 DELTA 1e-7 diagnosis, COUNT(DISTINCT patient_id) AS patients FROM visits"
        " GROUP BY diagnosis ORDER BY patients DESC",
        "SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis",
        keys=1,
    ),
    Question(
        "What does a visit cost, city by city?",
        "The cities are those of a public table.",
        "DP-SELECT 0.5 city, AVG(cost) AS cost FROM visits GROUP BY city ORDER BY cost DESC",
        "SELECT city, AVG(cost) FROM visits GROUP BY city",
        keys=1,
    ),
    Question(
        "How many patients are there, to within fifty?",
        "The accuracy is stated, and tacit finds the least ε for it.",
        "DP-SELECT WITHIN 50 COUNT(DISTINCT patient_id) AS patients FROM visits",
        "SELECT COUNT(DISTINCT patient_id) FROM visits",
    ),
)
SECRET = Question(
    "Is Sara Lee in debt?",
    "Mallory knows that she is in the table. The true count is 1 if she is in debt, 0 if not.",
    "DP-SELECT 0.05 COUNT(*) AS n FROM people WHERE name = 'Sara Lee' AND deposits < 0",
    "SELECT COUNT(*) FROM people WHERE name = 'Sara Lee' AND deposits < 0",
)
