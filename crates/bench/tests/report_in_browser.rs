//! The HTML report in a real browser, as people see it: wide, on a phone, in the dark.
//!
//! Screenshots stay in the target folder's `tmp/report-screenshots` to be looked at.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod browser;
mod synthetic;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bench::result::BenchResult;
use browser::{Browser, Screen};
use serde_json::json;

const DESKTOP: Screen = Screen { width: 1280, height: 900, phone: false, dark: false };
const PHONE: Screen = Screen { width: 390, height: 844, phone: true, dark: false };

fn written(result: &BenchResult, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-screenshots").join(name);
    bench::report::write(result, &directory).unwrap().html
}

/// Saves the screenshot beside the page, decodes it and asserts that it shows something from top to bottom.
fn assert_not_blank(browser: &mut Browser, page: &Path, name: &str, height: u32) {
    let png = browser.screenshot(height);
    std::fs::write(page.with_file_name(format!("{name}.png")), &png).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let image = reader.next_frame(&mut pixels).unwrap();
    let bytes_per_pixel = image.color_type.samples();
    let rows: Vec<&[u8]> = pixels[..image.buffer_size()].chunks(image.line_size).collect();
    let mut colours: HashMap<&[u8], usize> = HashMap::new();
    for pixel in rows.iter().flat_map(|row| row.chunks_exact(bytes_per_pixel)) {
        *colours.entry(pixel).or_default() += 1;
    }
    assert!(colours.len() > 50, "{name}: only {} colours", colours.len());
    let (paper, area) = colours.iter().max_by_key(|(_, count)| **count).unwrap();
    let all = (image.width * image.height) as usize;
    let ink = (all - area) as f64 / all as f64;
    assert!((0.02..0.6).contains(&ink), "{name}: {:.1} % of the picture is ink", ink * 100.0);
    for band in rows.chunks(rows.len() / 6) {
        let drawn = band.iter().any(|row| row.chunks_exact(bytes_per_pixel).any(|pixel| pixel != *paper));
        assert!(drawn, "{name}: a sixth of the picture is empty");
    }
}

fn assert_fits(browser: &mut Browser, width: u32) {
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), json!(width), "the page scrolls sideways");
    let beyond = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, svg') && e.getBoundingClientRect().right > \
                  innerWidth + 0.5).map(e => e.tagName + '.' + e.className)";
    assert_eq!(browser.evaluate(beyond), json!([]), "elements reach beyond the screen");
}

#[test]
fn table_is_read_from_the_page_and_the_page_is_not_blank() {
    let page = written(&synthetic::result(1, 1.0), "two-subjects");
    let mut browser = Browser::start();
    browser.open(&page, DESKTOP);
    let rows = browser.evaluate(
        "[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('oltp_read_write: threads'))
             .querySelectorAll('tbody tr').length",
    );
    assert_eq!(rows, json!(5));
    let threads = browser.evaluate(
        "[...[...document.querySelectorAll('table')].find(t => t.caption.textContent.startsWith('oltp_read_write: threads'))
             .querySelectorAll('tbody th')].map(cell => cell.textContent)",
    );
    assert_eq!(threads, json!(["1", "8", "16", "32", "64"]));
    assert_fits(&mut browser, 1280);
    assert_not_blank(&mut browser, &page, "desktop", 2_000);
    browser.open(&page, Screen { dark: true, ..DESKTOP });
    let brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)";
    assert!(browser.evaluate(brightness).as_u64().unwrap() < 150, "the page is bright in the dark");
    assert_not_blank(&mut browser, &page, "dark", 2_000);
}

#[test]
fn phone_shows_everything_without_scrolling_sideways() {
    let page = written(&synthetic::result(1, 1.0), "phone");
    let mut browser = Browser::start();
    browser.open(&page, PHONE);
    assert_fits(&mut browser, 390);
    assert_not_blank(&mut browser, &page, "phone", 2_400);
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
    assert_fits(&mut browser, 390);
    let smallest = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('svg.chart text')].map(text => text.getBoundingClientRect().height)
             .filter(height => height > 0))",
    );
    assert!(smallest.as_f64().unwrap() >= 10.0, "a chart's text is {smallest} px high");
    let outside = browser.evaluate(
        "[...document.querySelectorAll('svg.chart')].flatMap(svg => [...svg.querySelectorAll('text')].filter(text => {
             const inner = text.getBoundingClientRect(), outer = svg.getBoundingClientRect();
             return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5 || inner.bottom > outer.bottom + 0.5;
         }).map(text => text.textContent))",
    );
    assert_eq!(outside, json!([]), "a chart's text is cut off");
}

#[test]
fn charts_are_read_without_colour() {
    let page = written(&synthetic::result(1, 1.0), "colour");
    let mut browser = Browser::start();
    browser.open(&page, DESKTOP);
    let looks = browser.evaluate(
        "[...document.querySelector('svg.chart').querySelectorAll('g.s0, g.s1')].map(line =>
             [getComputedStyle(line.querySelector('.line')).strokeDasharray, line.querySelector('.marker').getAttribute('d')])",
    );
    let looks = looks.as_array().unwrap();
    assert_eq!(looks.len(), 2);
    assert!(looks[0][0] != looks[1][0] && looks[0][1] != looks[1][1], "{looks:?}");
    let names =
        browser.evaluate("[...document.querySelector('svg.chart').querySelectorAll('text.name')].map(name => name.textContent).sort()");
    assert_eq!(names, json!(["mariadb", "trine"]));
    let nameless = "[...document.querySelectorAll('svg.chart')].filter(svg => !svg.querySelector('title').textContent
                    || !svg.querySelector('desc').textContent).length + [...document.querySelectorAll('table')].filter(t => !t.caption).length";
    assert_eq!(browser.evaluate(nameless), json!(0));
}

#[test]
fn hostile_names_stay_text_in_the_browser() {
    let evil = "<script>document.title='x'</script><img src=x onerror=\"document.title='x'\">";
    let mut result = synthetic::result(1, 1.0);
    result.title = evil.to_string();
    result.description = evil.to_string();
    result.scenario_text = format!("</code></pre>{evil}");
    result.subjects[0].name = evil.to_string();
    result.subjects[0].variables.insert(evil.to_string(), evil.to_string());
    for run in &mut result.runs {
        run.workload = evil.to_string();
        run.driver_bound = Some(evil.to_string());
        if run.subject == "trine" {
            run.subject = evil.to_string();
        }
    }
    let page = written(&result, "hostile");
    let mut browser = Browser::start();
    browser.open(&page, PHONE);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('script, img, iframe, link, object, embed, [onerror], [onload]').length"),
        json!(0)
    );
    assert_eq!(browser.evaluate("document.title"), json!(evil));
    assert_eq!(browser.evaluate("document.querySelector('h1').textContent"), json!(evil));
    assert_fits(&mut browser, 390);
}

#[test]
fn other_shapes_of_results_look_right_too() {
    let mut browser = Browser::start();
    let tpcc = written(&synthetic::tpcc(), "tpcc");
    browser.open(&tpcc, DESKTOP);
    assert_fits(&mut browser, 1280);
    assert_not_blank(&mut browser, &tpcc, "tpcc", 2_000);
    let wide = written(&synthetic::wide(), "wide");
    browser.open(&wide, DESKTOP);
    assert_fits(&mut browser, 1280);
    assert_not_blank(&mut browser, &wide, "wide", 3_000);
    let letters =
        browser.evaluate("[...document.querySelector('svg.chart').querySelectorAll('text.name')].map(name => name.textContent).sort()");
    assert_eq!(letters, json!(["A", "B", "C"]), "long names are letters that the legend explains");
    let before = synthetic::result(1, 1.0);
    let mut after = synthetic::result(2, 1.2);
    after.subjects[0].commit = Some("55d3721".to_string());
    let directory = tpcc.with_file_name("compare");
    let compared = bench::compare::write(&before, &after, &directory).unwrap().html;
    browser.open(&compared, DESKTOP);
    assert_fits(&mut browser, 1280);
    assert_not_blank(&mut browser, &compared, "compare", 2_000);
    browser.open(&compared, PHONE);
    assert_fits(&mut browser, 390);
}
