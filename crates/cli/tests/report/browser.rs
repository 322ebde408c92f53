//! The page in a real browser (headless Chromium): it runs without network and without errors, filters filter, keys
//! move, and the interleaving views show steps in the order of the run. Left out, with a message, where there is no
//! Chromium.

mod devtools;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{hostile, reweave, sample};
use devtools::Browser;

/// Writes the page of a folder somewhere and opens it; none without a browser.
fn open(folder: &Path) -> Option<(Browser, PathBuf)> {
    let browser = Browser::start()?;
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{}.html", browser.number()));
    let said = reweave(folder, &["report", ".", "--html", &page.display().to_string()]);
    assert!(said.code <= 1, "{}", said.stderr);
    Some((browser, page))
}

fn opened(folder: &Path) -> Option<Browser> {
    let (mut browser, page) = open(folder)?;
    browser.go_to(&page);
    Some(browser)
}

/// The marked steps of a view, from top to bottom: number of the access, and lane.
const MARKED: &str = "[...document.querySelectorAll('#finding-1 .run:nth-child(VIEW) .row.marked')]
    .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
    .map(row => row.getAttribute('aria-label'))";

fn marked(browser: &mut Browser, view: usize) -> Vec<String> {
    let value = browser.evaluate(&MARKED.replace("VIEW", &view.to_string()));
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Everything that a view shows, by step.
fn steps(browser: &mut Browser, view: usize) -> Vec<String> {
    let script = MARKED.replace("VIEW", &view.to_string()).replace(".row.marked", ".row");
    let value = browser.evaluate(&script);
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn a_race_has_its_accesses_one_after_the_other() {
    let Some(mut browser) = opened(&sample("race")) else { return };
    let failing = marked(&mut browser, 1);
    assert_eq!(failing.len(), 2, "{failing:?}");
    assert!(failing[0].contains("T2, access 1: read balance = ") && failing[0].contains("bank.c:15"), "{failing:?}");
    assert!(failing[1].contains("T1, access 2: write balance = ") && failing[1].contains("bank.c:24"), "{failing:?}");
    let number = |label: &String| label.split([' ', ',']).nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number");
    assert_eq!(number(&failing[0]) + 1, number(&failing[1]));
    // In the recorded run it was the other way round.
    let observed = marked(&mut browser, 2);
    assert!(observed[0].contains("access 2") && observed[1].contains("access 1"), "{observed:?}");
    // Rows come in the order of their numbers.
    let all: Vec<u64> = steps(&mut browser, 1).iter().map(number).collect();
    assert!(all.len() > 15 && all.is_sorted(), "{all:?}");
    browser.finish();
}

#[test]
fn a_deadlock_ends_with_both_waiting() {
    let Some(mut browser) = opened(&sample("deadlock")) else { return };
    let failing = marked(&mut browser, 1);
    assert_eq!(failing.len(), 2, "{failing:?}");
    assert!(failing.iter().any(|label| label.contains("T1, access 1: waits for lock savings_lock")), "{failing:?}");
    assert!(failing.iter().any(|label| label.contains("T2, access 2: waits for lock checking_lock")), "{failing:?}");
    let bars = browser.evaluate("document.querySelectorAll('#finding-1 .run:nth-child(1) rect').length");
    assert_eq!(bars, json!(2), "each holds one lock to the end");
    let outcome = browser.evaluate("document.querySelector('#finding-1 .run h3').textContent");
    assert!(outcome.as_str().is_some_and(|text| text.contains("hung")), "{outcome}");
    browser.finish();
}

#[test]
fn an_atomicity_violation_is_torn_in_the_middle() {
    let Some(mut browser) = opened(&sample("atomicity")) else { return };
    let failing = marked(&mut browser, 1);
    let lanes: Vec<&str> = failing.iter().filter_map(|label| label.split(", ").nth(1)).collect();
    let numbers: Vec<String> =
        failing.iter().filter_map(|label| Some(label.split("access ").nth(1)?.chars().next()?.to_string())).collect();
    assert!(numbers.is_sorted() && numbers.len() >= 3, "{failing:?}");
    assert_eq!(lanes.first(), lanes.last(), "the block begins and ends in one thread: {failing:?}");
    assert!(lanes.iter().any(|lane| Some(lane) != lanes.first()), "another one comes in between: {failing:?}");
    browser.finish();
}

/// A program of which only the first run does anything: what is predicted of it cannot be confirmed.
#[test]
fn a_prediction_shows_the_order_that_no_run_had() {
    if Browser::start().is_none() {
        return;
    }
    let source = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\nstatic int balance = 100;\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *deposit(void *unused) {\n    balance = 110;\n    pthread_mutex_lock(&lock);\n    pthread_mutex_unlock(&lock);\n\
        return unused;\n}\nstatic void *withdraw(void *unused) {\n    pthread_mutex_lock(&lock);\n    pthread_mutex_unlock(&lock);\n\
        balance = 80;\n    return unused;\n}\nint main(void) {\n    if (access(\"ledger\", F_OK) == 0)\n        return 0;\n\
        fclose(fopen(\"ledger\", \"w\"));\n    pthread_t one, two;\n    pthread_create(&one, NULL, deposit, NULL);\n\
        pthread_create(&two, NULL, withdraw, NULL);\n    pthread_join(one, NULL);\n    pthread_join(two, NULL);\n    return 0;\n}\n";
    let scratch = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(scratch.path().join("once.c"), source).expect("written");
    let built = reweave(scratch.path(), &["cc", "-g", "-o", "once", "once.c", "-lpthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let tested = reweave(scratch.path(), &["test", "--budget", "10s", "-o", ".", "--", "./once"]);
    assert!(tested.stderr.contains("0 confirmed, 1 predicted"), "{}", tested.stderr);
    let Some(mut browser) = opened(scratch.path()) else { return };
    let titles = "[...document.querySelectorAll('#finding-1 .run h3')].map(title => title.firstChild.textContent.trim()).join(' | ')";
    let titles = browser.evaluate(titles);
    assert_eq!(
        titles, "The predicted order of the recorded steps | The recorded run, in which it did not happen",
        "{titles}"
    );
    let number = |label: &String| label.split([' ', ',']).nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number");
    let (predicted, observed) = (marked(&mut browser, 1), marked(&mut browser, 2));
    assert!(predicted.len() == 2 && observed.len() == 2, "{predicted:?} {observed:?}");
    assert!(predicted[0].contains("access 1") && predicted[1].contains("access 2"), "{predicted:?}");
    assert_eq!(number(&predicted[0]) + 1, number(&predicted[1]), "one right after the other: {predicted:?}");
    assert!(number(&observed[1]) > number(&observed[0]) + 1, "{observed:?}");
    browser.finish();
}

#[test]
fn one_bug_is_shown_once() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let text = std::fs::read_to_string(sample("race").join("report.json")).expect("a report");
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    report["findings"][0]["harm"] = json!("status");
    let mut other = report["findings"][0].clone();
    other["id"] = json!(2);
    other["accesses"].as_array_mut().expect("accesses").reverse();
    let mut failure = report["findings"][0].clone();
    failure["id"] = json!(3);
    failure["kind"] = json!("failure");
    failure["accesses"] = json!([]);
    report["findings"].as_array_mut().expect("findings").extend([other, failure]);
    std::fs::write(scratch.path().join("report.json"), report.to_string()).expect("written");
    let Some(mut browser) = opened(scratch.path()) else { return };
    let shown = "[...document.querySelectorAll('.finding')].filter(f => f.offsetParent).map(f => f.dataset.id).join()";
    assert_eq!(browser.evaluate(shown), "1");
    let also =
        browser.evaluate("[...document.querySelectorAll('#finding-1 .also li')].map(li => li.textContent).join(' | ')");
    assert!(also.as_str().is_some_and(|also| also.starts_with("also [2] ") && also.contains(" | also [3] ")), "{also}");
    assert_eq!(
        browser.evaluate("document.getElementById('count').textContent"),
        "3 of 3 findings, 2 shown with another finding"
    );
    // Asked for, it comes; and without the one that speaks for it, too.
    browser.evaluate("document.querySelector('.also a[href=\"#finding-3\"]').click()");
    assert_eq!(browser.evaluate(shown), "1,3");
    browser.evaluate("document.querySelector('[data-kind=race][type=checkbox]').click()");
    assert_eq!(browser.evaluate(shown), "3");
    browser.evaluate("document.querySelector('[data-kind=race][type=checkbox]').click()");
    browser.evaluate("document.getElementById('fold').click()");
    assert_eq!(browser.evaluate(shown), "1,2,3");
    browser.finish();
}

#[test]
fn filters_keys_and_colours() {
    // Two kinds and two strengths.
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let text = |kind: &str| std::fs::read_to_string(sample(kind).join("report.json")).expect("a report");
    let mut report: Value = serde_json::from_str(&text("race")).expect("JSON");
    let other: Value = serde_json::from_str(&text("nondeterminism")).expect("JSON");
    let mut second = other["findings"][0].clone();
    second["id"] = json!(2);
    report["findings"].as_array_mut().expect("findings").push(second);
    std::fs::write(scratch.path().join("report.json"), report.to_string()).expect("written");
    let Some(mut browser) = opened(scratch.path()) else { return };
    let shown = "[...document.querySelectorAll('.finding')].filter(f => f.offsetParent).map(f => f.dataset.id).join()";
    assert_eq!(browser.evaluate(shown), "1,2");
    browser.evaluate("document.querySelector('[data-kind=race][type=checkbox]').click()");
    assert_eq!(browser.evaluate(shown), "2");
    browser.evaluate("document.querySelector('[data-kind=race][type=checkbox]').click()");
    browser.evaluate("document.querySelector('[data-strength=information][type=checkbox]').click()");
    assert_eq!(browser.evaluate(shown), "1");
    browser.evaluate("document.querySelector('[data-strength=information][type=checkbox]').click()");
    for (typed, wanted) in [("auction", "2"), ("withdraw bank", "1"), ("nowhere", ""), ("", "1,2")] {
        browser.evaluate(&format!(
            "(() => {{ const t = document.getElementById('text'); t.value = {typed:?}; t.dispatchEvent(new Event('input')); }})()"
        ));
        assert_eq!(browser.evaluate(shown), wanted, "{typed}");
    }
    let count = browser.evaluate("document.getElementById('count').textContent");
    assert_eq!(count, "2 of 2 findings");
    // Keys: to the second finding, and back.
    browser.evaluate("document.activeElement.blur()");
    let current = "document.querySelector('.finding.current')?.dataset.id ?? ''";
    for (key, wanted) in [("j", "1"), ("j", "2"), ("j", "2"), ("k", "1")] {
        browser.press(key);
        assert_eq!(browser.evaluate(current), wanted, "{key}");
    }
    let background = "getComputedStyle(document.body).backgroundColor";
    browser.colours("dark");
    let dark = browser.evaluate(background);
    browser.colours("light");
    let light = browser.evaluate(background);
    assert_ne!(dark, light);
    browser.press("t");
    assert_eq!(browser.evaluate(background), dark, "the key goes over what the system says");
    browser.finish();
}

#[test]
fn views_can_be_walked_with_keys() {
    let Some(mut browser) = opened(&sample("race")) else { return };
    browser.press("v");
    let selected = "document.querySelector('.run .row.selected').getAttribute('aria-label')";
    assert!(browser.evaluate(selected).as_str().is_some_and(|label| label.contains("access 1")));
    browser.press("]");
    assert!(browser.evaluate(selected).as_str().is_some_and(|label| label.contains("access 2")));
    let source = browser.evaluate("document.querySelector('.beside .here').textContent");
    assert!(source.as_str().is_some_and(|text| text.contains("balance += AMOUNT")), "{source}");
    browser.press("ArrowUp");
    assert!(browser.evaluate(selected).as_str().is_some_and(|label| label.contains("access 1")));
    browser.finish();
}

#[test]
fn hostile_names_do_no_harm() {
    let folder = hostile::folder();
    let Some(mut browser) = opened(folder.path()) else { return };
    let title = browser.evaluate("document.title");
    assert!(title.as_str().is_some_and(|title| title.contains("<img src=x") && !title.contains("owned")), "{title}");
    assert_eq!(browser.evaluate("document.images.length"), 0);
    assert_eq!(browser.evaluate("document.scripts.length"), 2);
    let wide = browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth");
    assert_eq!(wide, true, "long names do not make the page wide");
    browser.finish();
}

#[test]
fn ten_thousand_steps_are_drawn_as_they_come_into_sight() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let source = "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\nstatic int hits, misses;\n\
        static void *work(void *unused) {\n    for (int i = 0; i < 900; i++) {\n        pthread_mutex_lock(&lock);\n        hits++;\n\
        pthread_mutex_unlock(&lock);\n    }\n    misses++;\n    return unused;\n}\nint main(void) {\n    pthread_t a, b;\n\
        pthread_create(&a, 0, work, 0);\n    pthread_create(&b, 0, work, 0);\n    pthread_join(a, 0);\n    pthread_join(b, 0);\n\
        return 0;\n}\n";
    std::fs::write(scratch.path().join("long.c"), source).expect("written");
    if Browser::start().is_none() {
        return;
    }
    let built = reweave(scratch.path(), &["cc", "-g", "-o", "long", "long.c", "-lpthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let tested = reweave(scratch.path(), &["test", "--budget", "20s", "-o", ".", "--", "./long"]);
    assert_eq!(tested.code, 1, "{}", tested.stderr);
    let Some(mut browser) = opened(scratch.path()) else { return };
    let rows = "JSON.parse(document.getElementById('data').textContent).runs[0].rows.length";
    assert!(browser.evaluate(rows).as_u64().is_some_and(|rows| rows > 7_000), "{}", browser.evaluate(rows));
    browser.evaluate("document.querySelector('.run input').click()");
    let drawn = browser.evaluate("document.querySelectorAll('.run .row').length");
    assert!(drawn.as_u64().is_some_and(|rows| rows < 400), "{drawn} rows at once");
    browser.evaluate("document.querySelector('.lanes').scrollTop = 1e6");
    browser.wait_for("[...document.querySelectorAll('.run:first-child .row')].some(row => row.getAttribute('aria-label').includes('join T'))");
    browser.finish();
}

#[test]
fn it_prints() {
    let Some(mut browser) = opened(&sample("race")) else { return };
    let pdf = browser.print();
    assert!(pdf.starts_with("JVBERi0"), "a PDF in base64");
    browser.finish();
}
