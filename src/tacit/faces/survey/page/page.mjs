// The survey's page: asks, randomises in this browser, sends the report and nothing else.
import { fromHex, once, toHex } from "./tacit-collect.mjs";

const find = (id) => document.getElementById(id);
const survey = await (await fetch("survey.json")).json();

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
  find("price").textContent = `One answer costs at most ε = ${survey.epsilon}: it makes nothing about you more than ` +
    `${survey.factor} times as likely as it was.`;
  for (const [before, after] of survey.beliefs) {
    const cells = [before, after].map((text) => element("td", { textContent: text }));
    find("beliefs").append(element("tr", {}, ...cells));
  }
  find("form").hidden = false;
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

async function send(event) {
  event.preventDefault();
  find("trouble").hidden = true;
  const button = find("form").querySelector("button");
  button.disabled = true;
  try {
    const value = Number(new FormData(find("form")).get("answer"));
    const report = once(survey.description, value, localStorage); // if it has to be sent again, it is the same again
    const headers = { "Content-Type": "application/octet-stream" };
    const answer = await fetch("report", { method: "POST", headers, body: report });
    if (!answer.ok) throw new Error(`the survey did not take it (${answer.status})`);
    localStorage.setItem(DONE, toHex(report));
    thank(report, "This browser has answered now, and will not send anything again.");
  } catch (error) {
    trouble(`Not sent: ${error.message}.`);
    button.disabled = false;
  }
}

const DONE = `tacit:${survey.description.id}:sent`;
show();
const before = localStorage.getItem(DONE);
if (before) thank(fromHex(before), "That was some time ago: this browser answers once.");
find("form").addEventListener("submit", send);
