//! Draws the terminal monitor. It depends only on samples, so that tests can check it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::line::THICK_HORIZONTAL;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, LineGauge, Paragraph, Row, Sparkline, Table, TableState};

use crate::history::{History, Series, percent};
use crate::sample::{Gpu, Process, Sample};
use crate::text::{COLUMNS, cells, host, links, or_dash, part, state};

/// The user's choices, and the state of the table.
pub struct View {
    /// The index in [`COLUMNS`] by which processes are sorted.
    pub sort: usize,
    /// Sorts in ascending order.
    pub rising: bool,
    /// Shows only processes whose line contains this text.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// Sampling is paused.
    pub paused: bool,
    /// Shows the keys in place of the processes.
    pub help: bool,
    /// Seconds between samples.
    pub interval: f64,
    /// The scroll position and the selected row.
    pub table: TableState,
    /// The first GPU that is shown if not all fit.
    pub first_gpu: usize,
    /// Uses colors.
    pub color: bool,
    /// Draws bars and curves in ASCII.
    pub ascii: bool,
}

impl Default for View {
    fn default() -> View {
        View {
            sort: 2,
            rising: false,
            filter: String::new(),
            typing: false,
            paused: false,
            help: false,
            interval: 1.0,
            table: TableState::default(),
            first_gpu: 0,
            color: true,
            ascii: false,
        }
    }
}

/// Returns the processes that pass the filter, sorted.
pub fn chosen<'a>(sample: &'a Sample, view: &View) -> Vec<&'a Process> {
    let filter = view.filter.to_lowercase();
    let mut rows: Vec<&Process> = sample
        .processes
        .iter()
        .filter(|process| filter.is_empty() || cells(process).join(" ").to_lowercase().contains(&filter))
        .collect();
    let key = |process: &Process| -> f64 {
        let bytes = |n: Option<u64>| n.map_or(-1.0, |n| n as f64);
        match view.sort {
            0 => process.pid.into(),
            1 => process.gpu.map_or(-1.0, f64::from),
            2 => bytes(process.memory.or(process.own.map(|own| own.reserved))),
            3 => bytes(process.own.map(|own| own.allocated)),
            4 => bytes(process.own.map(|own| own.reserved)),
            5 => process.utilization.map_or(-1.0, f64::from),
            6 => process.cpu.unwrap_or(-1.0),
            _ => bytes(process.host_memory),
        }
    };
    rows.sort_by(|a, b| {
        let order = if view.sort == 8 { b.name.cmp(&a.name) } else { key(a).total_cmp(&key(b)) };
        if view.rising { order } else { order.reverse() }
    });
    rows
}

/// The number of lines for a GPU.
const GPU_LINES: u16 = 6;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, sample: &Sample, history: &History, view: &mut View) {
    let area = frame.area();
    // On a small screen the process table keeps a third of the height, and at least its header.
    let max_shown = (area.height.saturating_sub(6) * 2 / 3 / GPU_LINES).max(1) as usize;
    let shown = sample.gpus.len().min(max_shown);
    view.first_gpu = view.first_gpu.min(sample.gpus.len() - shown);
    let middle = if sample.gpus.is_empty() { 2 } else { GPU_LINES * shown as u16 };
    let parts = [Constraint::Length(3), Constraint::Length(middle), Constraint::Min(3), Constraint::Length(1)];
    let [top, gpus, table, foot] = Layout::vertical(parts).areas(area);
    draw_host(frame, top, sample, history, view);
    if sample.gpus.is_empty() {
        let why = sample.no_gpu.as_deref().unwrap_or_default();
        frame.render_widget(Paragraph::new(why).wrap(ratatui::widgets::Wrap { trim: true }), gpus);
    }
    let areas = Layout::vertical(vec![Constraint::Length(GPU_LINES); shown]).split(gpus);
    for (gpu, area) in sample.gpus.iter().skip(view.first_gpu).zip(areas.iter()) {
        draw_gpu(frame, *area, gpu, history, view);
    }
    draw_processes(frame, table, sample, view);
    frame.render_widget(Paragraph::new(footer(sample, view)).style(dim(view)), foot);
    if view.ascii {
        to_ascii(frame.buffer_mut());
    }
}

/// Replaces the characters of bars, lines and curves, and the sign of degrees, by those of ASCII.
fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let plain = match cell.symbol() {
            "━" | "▇" | "█" => "#",
            "─" => "-",
            "▁" | "▂" => ".",
            "▃" | "▄" => ":",
            "▅" | "▆" => "|",
            "°" => " ",
            _ => continue,
        };
        cell.set_symbol(plain);
    }
}

fn dim(view: &View) -> Style {
    if view.color { Style::new().fg(Color::DarkGray) } else { Style::new() }
}

/// Returns green, yellow or red.
fn heat(view: &View, percent: f64) -> Style {
    let color = match percent {
        p if p < 60.0 => Color::Green,
        p if p < 85.0 => Color::Yellow,
        _ => Color::Red,
    };
    if view.color { Style::new().fg(color) } else { Style::new() }
}

fn gauge(frame: &mut Frame<'_>, area: Rect, view: &View, label: String, percent: f64) {
    let ratio = (percent / 100.0).clamp(0.0, 1.0);
    // The filled part is thicker, which shows it where there are no colors.
    let bar = LineGauge::default().filled_symbol(THICK_HORIZONTAL).filled_style(heat(view, percent));
    frame.render_widget(bar.ratio(ratio).label(label), area);
}

/// Draws the newest readings that fit, the newest at the right.
fn graph(frame: &mut Frame<'_>, area: Rect, series: Option<&Series>, style: Style) {
    let Some(series) = series else { return };
    let width = area.width as usize;
    let data: Vec<u64> = std::iter::repeat_n(0, width.saturating_sub(series.len()))
        .chain(series.iter().skip(series.len().saturating_sub(width)).map(|value| value.round() as u64))
        .collect();
    frame.render_widget(Sparkline::default().data(&data).max(100).style(style), area);
}

fn draw_host(frame: &mut Frame<'_>, area: Rect, sample: &Sample, history: &History, view: &View) {
    let [title, bars, graphs] = Layout::vertical([Constraint::Length(1); 3]).areas(area);
    let driver = sample.driver.as_ref().map_or(String::new(), |version| format!(", driver {version}"));
    let line = format!("{}{driver}. {}", sample.host.name, host(&sample.host));
    frame.render_widget(Paragraph::new(line).style(Style::new().add_modifier(Modifier::BOLD)), title);
    let columns = Layout::horizontal([Constraint::Percentage(50); 2]).spacing(2);
    let [left, right] = columns.areas(bars);
    let busy = sample.host.utilization.unwrap_or(0.0);
    gauge(frame, left, view, format!("CPU {busy:>3.0}%"), busy);
    let memory = percent(Some(sample.host.memory_used as f64), Some(sample.host.memory_total as f64));
    let used = part(Some(sample.host.memory_used), Some(sample.host.memory_total));
    gauge(frame, right, view, format!("RAM {used}"), memory);
    let [left, right] = columns.areas(graphs);
    graph(frame, left, Some(&history.host[0]), heat(view, busy));
    graph(frame, right, Some(&history.host[1]), heat(view, memory));
}

fn draw_gpu(frame: &mut Frame<'_>, area: Rect, gpu: &Gpu, history: &History, view: &View) {
    let block = Block::new().borders(Borders::TOP).title(format!(" GPU {} {} ", gpu.index, gpu.name));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let [bars, graphs, more, first, second] = Layout::vertical([Constraint::Length(1); 5]).areas(inside);
    let columns = Layout::horizontal([Constraint::Percentage(50); 2]).spacing(2);
    let [left, right] = columns.areas(bars);
    let busy = gpu.utilization.map_or(0.0, f64::from);
    gauge(frame, left, view, format!("GPU {:>4}", or_dash(gpu.utilization, "%")), busy);
    let memory = percent(gpu.memory_used.map(|n| n as f64), gpu.memory_total.map(|n| n as f64));
    gauge(frame, right, view, format!("MEM {}", part(gpu.memory_used, gpu.memory_total)), memory);
    let series = history.gpus.get(&gpu.index);
    let [left, right] = columns.areas(graphs);
    graph(frame, left, series.map(|s| &s[0]), heat(view, busy));
    graph(frame, right, series.map(|s| &s[1]), heat(view, memory));
    let [left, right] = columns.areas(more);
    let power = percent(gpu.power, gpu.power_limit);
    gauge(frame, left, view, format!("PWR {:>3.0}%", power), power);
    let hot = percent(gpu.temperature.map(f64::from), gpu.temperature_limit.map(f64::from));
    gauge(frame, right, view, format!("TMP {}", or_dash(gpu.temperature, "°C")), hot);
    let style = if gpu.throttled_by.is_empty() { dim(view) } else { heat(view, 100.0) };
    frame.render_widget(Paragraph::new(state(gpu)).style(style), first);
    frame.render_widget(Paragraph::new(links(gpu)).style(dim(view)), second);
}

/// The keys of the monitor and what they do.
const KEYS: [(&str, &str); 10] = [
    ("?  h", "show or hide these keys"),
    ("s  Right  Left", "sort by the next or the previous column"),
    ("r", "reverse the order"),
    ("/", "show only processes whose line contains a text; Esc drops it"),
    ("Up  Down", "select a process"),
    ("g", "show the next GPU first"),
    ("+  -", "sample twice or half as often"),
    ("space", "pause or go on"),
    ("q  Esc  Ctrl-C", "quit"),
    ("bold", "a process that uses Cuprous and publishes its memory"),
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = KEYS.iter().map(|(key, what)| Line::raw(format!(" {key:<16}{what}"))).collect();
    let block = Block::new().borders(Borders::TOP).title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_processes(frame: &mut Frame<'_>, area: Rect, sample: &Sample, view: &mut View) {
    if view.help {
        return draw_help(frame, area);
    }
    let rows = chosen(sample, view);
    let of =
        if rows.len() < sample.processes.len() { format!(" of {}", sample.processes.len()) } else { String::new() };
    let noun = if rows.len() == 1 && of.is_empty() { "process" } else { "processes" };
    let block = Block::new().borders(Borders::TOP).title(format!(" {}{of} {noun} ", rows.len()));
    let headers = COLUMNS.iter().enumerate().map(|(at, name)| {
        let mark = match (at == view.sort, view.rising) {
            (false, _) => "",
            (true, true) => "^",
            (true, false) => "v",
        };
        Cell::from(format!("{name}{mark}"))
    });
    let widths = [8, 4, 10, 10, 10, 6, 6, 10].map(Constraint::Length);
    let widths = widths.into_iter().chain([Constraint::Min(10)]);
    let body = rows.iter().map(|process| {
        let style = if process.own.is_some() { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Row::new(cells(process)).style(style)
    });
    let table = Table::new(body, widths)
        .header(Row::new(headers).style(Style::new().add_modifier(Modifier::UNDERLINED)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block);
    if view.table.selected().is_some_and(|at| at >= rows.len()) {
        view.table.select(rows.len().checked_sub(1));
    }
    frame.render_stateful_widget(table, area, &mut view.table);
}

fn footer(sample: &Sample, view: &View) -> Line<'static> {
    if view.typing {
        return Line::from(vec![
            Span::raw("filter: "),
            Span::raw(view.filter.clone()),
            Span::raw("_  (Enter keeps, Esc drops it)"),
        ]);
    }
    let more = if sample.gpus.len() > 1 { "  g next GPU" } else { "" };
    let filter = if view.filter.is_empty() { String::new() } else { format!(" [{}]", view.filter) };
    let paused = if view.paused { "  PAUSED" } else { "" };
    let every = view.interval;
    Line::raw(format!(
        "? keys  q quit  s sort  r reverse  / filter{filter}  + - every {every} s  space pause{more}{paused}"
    ))
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
