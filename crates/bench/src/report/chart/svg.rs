//! A chart as SVG. Colours, dashes and widths are classes of the page's style sheet (`style.css`), so that the page's dark mode holds here too.
//!
//! ```text
//!   MAX ┤        ╭──■ name     LEFT: figures of the y axis    RIGHT: names at the lines' ends
//!       ┤   ●──╮╭╯
//!     0 ┼───┴───┴───┴──        BOTTOM: figures and title of the x axis
//! ```

use crate::report::chart::{Chart, Line, Point};
use crate::report::figures;
use crate::report::render::markup::Markup;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 270.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;
/// Width of a character of the labels, generously.
const CHARACTER: f64 = 7.0;
/// Least distance of two labels' base lines.
const LABEL_DISTANCE: f64 = 14.0;
/// Points that a line without marks may have before neighbours are drawn together.
const MOST_POINTS: usize = 160;

/// Markers around (0, 0), one for each of the styles.
const MARKERS: [&str; STYLES] = [
    "M0-4.2A4.2 4.2 0 1 1 0 4.2A4.2 4.2 0 1 1 0-4.2Z",
    "M-3.8-3.8H3.8V3.8H-3.8Z",
    "M0-5L4.8 3.6H-4.8Z",
    "M0-5.4L4.4 0L0 5.4L-4.4 0Z",
    "M0 5L4.8-3.6H-4.8Z",
    "M-4.5-1.5H-1.5V-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5Z",
];

/// How many subjects look different; after that the looks repeat and only the names differ.
const STYLES: usize = 6;

/// The class that gives a subject its colour and dashes.
pub(crate) fn class_of(subject: usize) -> String {
    format!("s{}", subject % STYLES)
}

/// A subject's marker.
pub(crate) fn marker_of(subject: usize) -> &'static str {
    MARKERS[subject % STYLES]
}

/// Draws a chart; `id` is unique in the page, `labels` are what the subjects are called in it.
pub(crate) fn draw(chart: &Chart, id: &str, subjects: &[String], labels: &[String], to: &mut Markup) {
    let frame = Frame::around(chart, labels);
    let (title_id, description_id) = (format!("{id}-title"), format!("{id}-desc"));
    to.element(
        "svg",
        &[
            ("class", &"chart"),
            ("viewBox", &format!("0 0 {WIDTH} {HEIGHT}")),
            ("role", &"img"),
            ("aria-labelledby", &format!("{title_id} {description_id}")),
        ],
        |to| {
            to.element("title", &[("id", &title_id)], |to| to.text(&chart.title));
            to.element("desc", &[("id", &description_id)], |to| to.text(&description(chart, subjects)));
            axes(chart, &frame, to);
            for line in &chart.lines {
                to.element("g", &[("class", &class_of(line.subject))], |to| draw_line(chart, line, &frame, &subjects[line.subject], to));
            }
            names(chart, &frame, labels, to);
        },
    );
}

/// The figures in words, for those who cannot see the chart.
fn description(chart: &Chart, subjects: &[String]) -> String {
    let lines = chart.lines.iter().filter(|line| line.marked).map(|line| {
        let points = line.points.iter().filter(|point| point.y.is_finite());
        let points: Vec<_> = points.map(|point| format!("{} at {}", (chart.format)(point.y), figures::tick(point.x))).collect();
        format!("{}: {}", subjects[line.subject], points.join(", "))
    });
    let lines: Vec<_> = lines.collect();
    let words = if lines.is_empty() { "One line for every repeat of every subject".to_string() } else { lines.join("; ") };
    format!("{} over {}, {}. {words}.", chart.title, chart.x_title, chart.hint)
}

/// The area that lines are drawn in.
struct Frame {
    left: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn around(chart: &Chart, labels: &[String]) -> Self {
        let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0) as f64 * CHARACTER;
        let left = longest(&mut chart.y.ticks().into_iter().map(|tick| figures::tick(tick).chars().count())) + 12.0;
        let named = chart.lines.iter().filter(|line| line.named);
        let right = WIDTH - longest(&mut named.map(|line| labels[line.subject].chars().count())) - 14.0;
        Self { left, right, bottom: HEIGHT - BOTTOM }
    }

    fn x(&self, chart: &Chart, value: f64) -> f64 {
        // Marked points keep off the axis, so that their markers stay whole.
        let inset = if chart.lines.iter().any(|line| line.marked) { 10.0 } else { 0.0 };
        self.left + inset + chart.x.place(value) * (self.right - self.left - 2.0 * inset)
    }

    fn y(&self, chart: &Chart, value: f64) -> f64 {
        self.bottom - chart.y.place(value) * (self.bottom - TOP)
    }
}

fn axes(chart: &Chart, frame: &Frame, to: &mut Markup) {
    to.element("g", &[("class", &"axes"), ("aria-hidden", &"true")], |to| {
        for tick in chart.y.ticks() {
            let y = round(frame.y(chart, tick));
            to.empty("path", &[("class", &"rule"), ("d", &format!("M{} {y}H{}", round(frame.left), round(frame.right)))]);
            to.element("text", &[("x", &round(frame.left - 6.0)), ("y", &round(y + 4.0)), ("text-anchor", &"end")], |to| {
                to.text(&figures::tick(tick));
            });
        }
        to.empty("path", &[("class", &"base"), ("d", &format!("M{} {}H{}", round(frame.left), frame.bottom, round(frame.right)))]);
        let mut free_from = f64::MIN;
        for (at, &tick) in chart.x_ticks.iter().enumerate() {
            let (x, text) = (frame.x(chart, tick), figures::tick(tick));
            let half = text.chars().count() as f64 * CHARACTER / 2.0 + 2.0;
            to.empty("path", &[("class", &"base"), ("d", &format!("M{} {}v4", round(x), frame.bottom))]);
            let last_is_free =
                chart.x_ticks.last().is_none_or(|last| at + 1 == chart.x_ticks.len() || frame.x(chart, *last) - x > 2.0 * half);
            if x - half >= free_from && last_is_free {
                free_from = x + half;
                to.element("text", &[("x", &round(x)), ("y", &(frame.bottom + 18.0)), ("text-anchor", &"middle")], |to| to.text(&text));
            }
        }
        let middle = round((frame.left + frame.right) / 2.0);
        to.element("text", &[("class", &"axis"), ("x", &middle), ("y", &(HEIGHT - 8.0)), ("text-anchor", &"middle")], |to| {
            to.text(chart.x_title);
            if chart.y.is_logarithmic() {
                to.text(" (logarithmic height)");
            }
        });
    });
}

fn draw_line(chart: &Chart, line: &Line, frame: &Frame, name: &str, to: &mut Markup) {
    let points = if line.marked { line.points.clone() } else { thinned(&line.points) };
    let (mut path, mut pen_is_up) = (String::new(), true);
    for point in &points {
        if !point.y.is_finite() {
            pen_is_up = true;
            continue;
        }
        let command = if pen_is_up { 'M' } else { 'L' };
        path += &format!("{command}{} {}", round(frame.x(chart, point.x)), round(frame.y(chart, point.y)));
        pen_is_up = false;
    }
    to.empty("path", &[("class", &if line.marked { "line" } else { "line thin" }), ("d", &path)]);
    for point in points.iter().filter(|point| line.marked && point.y.is_finite()) {
        let (x, y) = (frame.x(chart, point.x), frame.y(chart, point.y));
        let (low, high) = (frame.y(chart, point.low), frame.y(chart, point.high));
        if low - high > 1.0 {
            let (x, low, high) = (round(x), round(low), round(high));
            let (left, right) = (round(x - 4.0), round(x + 4.0));
            to.empty("path", &[("class", &"whisker"), ("d", &format!("M{x} {low}V{high}M{left} {low}H{right}M{left} {high}H{right}"))]);
        }
        let place = format!("translate({} {})", round(x), round(y));
        to.element("path", &[("class", &"marker"), ("transform", &place), ("d", &marker_of(line.subject))], |to| {
            to.element("title", &[], |to| {
                to.text(&format!("{name}: {} at {} {}", (chart.format)(point.y), figures::tick(point.x), chart.x_title));
            });
        });
    }
}

/// The names at the lines' ends, moved apart where they would overlap.
fn names(chart: &Chart, frame: &Frame, labels: &[String], to: &mut Markup) {
    let named = chart.lines.iter().filter(|line| line.named);
    let ends = named.filter_map(|line| Some((line.subject, line.points.iter().rfind(|point| point.y.is_finite())?)));
    let mut names: Vec<(usize, f64)> = ends.map(|(subject, end)| (subject, frame.y(chart, end.y) + 4.0)).collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    let heights = moved_apart(&names.iter().map(|(_, y)| *y).collect::<Vec<_>>(), frame.bottom);
    for (&(subject, _), y) in names.iter().zip(heights) {
        let class = format!("name {}", class_of(subject));
        to.element("text", &[("class", &class), ("x", &round(frame.right + 6.0)), ("y", &round(y)), ("aria-hidden", &"true")], |to| {
            to.text(&labels[subject]);
        });
    }
}

/// Moves ascending heights down until they are far enough apart, then up again from the lowest place allowed.
fn moved_apart(heights: &[f64], lowest: f64) -> Vec<f64> {
    let mut moved = heights.to_vec();
    for at in 1..moved.len() {
        moved[at] = moved[at].max(moved[at - 1] + LABEL_DISTANCE);
    }
    let mut limit = lowest;
    for height in moved.iter_mut().rev() {
        *height = height.min(limit);
        limit = *height - LABEL_DISTANCE;
    }
    moved
}

/// Fewer points with the same outline: of each group of neighbours the lowest and the highest stay, so that no stall disappears.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let group = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for group in points.chunks(group) {
        let by_height = |a: &&Point, b: &&Point| a.y.total_cmp(&b.y);
        let finite = || group.iter().filter(|point| point.y.is_finite());
        match (finite().min_by(by_height), finite().max_by(by_height)) {
            (Some(low), Some(high)) if low.x < high.x => kept.extend([*low, *high]),
            (Some(low), Some(high)) if low.x > high.x => kept.extend([*high, *low]),
            (Some(only), _) => kept.push(*only),
            _ => kept.extend(group.first().copied()),
        }
    }
    kept
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_stalls_and_peaks() {
        let mut points: Vec<_> = (0..10_000).map(|x| Point::single(f64::from(x), 100.0)).collect();
        points[4_321].y = 0.0;
        points[7_654].y = 900.0;
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS, "{}", kept.len());
        assert!(kept.iter().any(|point| point.y == 0.0) && kept.iter().any(|point| point.y == 900.0));
        assert!(kept.is_sorted_by(|a, b| a.x < b.x));
    }

    #[test]
    fn names_do_not_overlap_and_stay_above_the_axis() {
        let moved = moved_apart(&[100.0, 101.0, 224.0, 226.0], 226.0);
        assert_eq!(moved, [100.0, 114.0, 212.0, 226.0]);
    }
}
