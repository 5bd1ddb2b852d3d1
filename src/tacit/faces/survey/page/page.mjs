// The survey's page: asks, randomises in this browser, sends the report and nothing else.
import { epsilon, fromHex, once, storageName, toHex, topicOf } from "./tacit-collect.mjs";

const find = (id) => document.getElementById(id);
const survey = await (await fetch("survey.json", { credentials: "omit" })).json();

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function trouble(text) {
  find("trouble").textContent = text;
  find("trouble").hidden = false;
}

function show() {
  document.title = survey.question;
  find("name").textContent = survey.name;
  find("question").textContent = survey.question;
  const answers = find("answers");
  if (survey.answers.length) {
    survey.answers.forEach((answer, place) => {
      const choice = element("input", { type: "radio", name: "answer", value: String(place), required: true });
      answers.append(element("label", {}, choice, answer));
    });
  } else {
    const { lower, upper, step } = survey.bounds;
    const field = element("input", { type: "number", name: "answer", min: lower, max: upper, step, required: true });
    answers.append(element("label", {}, field, `from ${lower} to ${upper}`));
  }
  showPrice(epsilon(survey.description)); // worked out here: the server's word is not taken for it
  find("form").hidden = false;
}

const percent = (share) => `${(100 * share).toFixed(1).replace(/\.0$/, "")}%`;

function showPrice(price) {
  const factor = Math.exp(price);
  find("price").textContent = `One answer costs at most ε = ${Number(price.toPrecision(4))}: it makes nothing about ` +
    `you more than ${Number(factor.toPrecision(3))} times as likely as it was.`;
  find("dear").hidden = price <= 8;
  for (const before of [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9]) {
    const after = before / (before + (1 - before) / factor);
    const cells = [before, after].map((share) => element("td", { textContent: percent(share) }));
    find("beliefs").append(element("tr", {}, ...cells));
  }
}

/** That what is remembered is of this very question: the description's topic is that of what is shown. */
function checkTopic() {
  const { name, question, answers, bounds, description } = survey;
  if (description.topic !== topicOf({ name, question, answers, bounds })) {
    throw new Error("this page does not fit its own description");
  }
}

/** What the report says, where a report names an answer. */
function told(report) {
  if (survey.description.protocol !== "direct") return "A randomised report was sent.";
  const number = report.slice(5).reduceRight((sum, byte) => 256 * sum + byte, 0);
  return `The coins made your browser send “${survey.answers[number]}”. It may be the truth, or not: nobody can tell.`;
}

function thank(report, again) {
  find("told").textContent = told(report);
  find("bytes").textContent = toHex(report);
  find("again").textContent = again;
  find("form").hidden = true;
  find("sent").hidden = false;
}

const sentName = () => `${storageName(survey.description)}:sent`;

async function send(event) {
  event.preventDefault();
  find("trouble").hidden = true;
  const button = find("form").querySelector("button");
  button.disabled = true;
  try {
    const value = Number(new FormData(find("form")).get("answer"));
    const report = once(survey.description, value, localStorage); // if it has to be sent again, it is the same again
    const headers = { "Content-Type": "application/octet-stream" };
    const answer = await fetch("report", { method: "POST", headers, body: report, credentials: "omit" });
    if (answer.status === 429) throw new Error("many answers came from your address within the hour; try again later");
    if (!answer.ok) throw new Error(`the survey did not take it (${answer.status})`);
    localStorage.setItem(sentName(), toHex(report));
    thank(report, "This browser has answered now, and will not send anything again.");
  } catch (error) {
    const drawn = localStorage.getItem(storageName(survey.description)) !== null;
    const again = " The coins were tossed already: if you try again, the same report is sent, whatever you choose then.";
    trouble(`Not sent: ${error.message}.${drawn ? again : ""}`);
    button.disabled = false;
  }
}

try {
  checkTopic();
  show();
  const before = localStorage.getItem(sentName());
  if (before) thank(fromHex(before), "That was some time ago: this browser answers once.");
  find("form").addEventListener("submit", send);
} catch (error) {
  trouble(`Nothing can be sent: ${error.message}.`);
}
