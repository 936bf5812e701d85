//! The terminal monitor: handles keys, takes samples, draws the screen.

use std::io;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::history::History;
use crate::monitor::Monitor;
use crate::sample::Sample;
use crate::screen::{View, draw};
use crate::text::COLUMNS;

/// Shows the monitor until the user quits.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(mut monitor: Monitor, view: View) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let result = show(&mut terminal, &mut monitor, view);
    ratatui::restore();
    result
}

fn show(terminal: &mut ratatui::DefaultTerminal, monitor: &mut Monitor, mut view: View) -> io::Result<()> {
    let mut history = History::default();
    let mut sample = monitor.sample();
    history.add(&sample);
    let mut next = Instant::now() + Duration::from_secs_f64(view.interval.min(0.2));
    loop {
        terminal.draw(|frame| draw(frame, &sample, &history, &mut view))?;
        if !wait_for_key(next.saturating_duration_since(Instant::now())) {
            return Ok(());
        }
        if event::poll(Duration::ZERO)? {
            // Several keys may be pending, as after pasting text.
            loop {
                if let Event::Key(key) = event::read()?
                    && key.kind != KeyEventKind::Release
                    && press(key, &mut view, &sample)
                {
                    return Ok(());
                }
                if !event::poll(Duration::ZERO)? {
                    break;
                }
            }
        }
        if Instant::now() >= next {
            next = Instant::now() + Duration::from_secs_f64(view.interval);
            if !view.paused {
                sample = monitor.sample();
                history.add(&sample);
            }
        }
    }
}

/// Waits for a key, a signal or the timeout. Returns false if the terminal is gone, for which `event::poll` would spin.
#[cfg(unix)]
fn wait_for_key(time: Duration) -> bool {
    let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // Rounded up, so that the last millisecond is not a busy loop.
    let time = i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: `poll` reads and writes one struct.
    unsafe { libc::poll(&raw mut input, 1, time) };
    input.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) == 0
}

/// Waits for a key or the timeout. Returns false if the terminal is gone.
#[cfg(not(unix))]
fn wait_for_key(time: Duration) -> bool {
    event::poll(time).is_ok()
}

/// Handles a key. Returns true if it quits the monitor.
pub fn press(key: KeyEvent, view: &mut View, sample: &Sample) -> bool {
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return true;
    }
    if view.typing {
        match key.code {
            KeyCode::Enter => view.typing = false,
            KeyCode::Esc => {
                view.typing = false;
                view.filter.clear();
            }
            KeyCode::Backspace => {
                view.filter.pop();
            }
            KeyCode::Char(letter) if view.filter.len() < 64 => view.filter.push(letter),
            _ => (),
        }
        return false;
    }
    match key.code {
        KeyCode::Char('?' | 'h') => view.help = !view.help,
        KeyCode::Esc if view.help => view.help = false,
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('s') | KeyCode::Right => view.sort = (view.sort + 1) % COLUMNS.len(),
        KeyCode::Left => view.sort = (view.sort + COLUMNS.len() - 1) % COLUMNS.len(),
        KeyCode::Char('r') => view.rising = !view.rising,
        KeyCode::Char('/') => view.typing = true,
        KeyCode::Char(' ') => view.paused = !view.paused,
        KeyCode::Char('g') => view.first_gpu = (view.first_gpu + 1) % sample.gpus.len().max(1),
        KeyCode::Char('+') => view.interval = (view.interval / 2.0).max(0.25),
        KeyCode::Char('-') => view.interval = (view.interval * 2.0).min(64.0),
        KeyCode::Down => view.table.select_next(),
        KeyCode::Up => view.table.select_previous(),
        _ => (),
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_the_footer_says() {
        let mut view = View::default();
        let sample = Sample::default();
        let keys = |text: &str, view: &mut View| {
            text.chars().any(|letter| press(KeyEvent::from(KeyCode::Char(letter)), view, &sample))
        };
        assert!(!keys("?", &mut view) && view.help);
        assert!(!press(KeyEvent::from(KeyCode::Esc), &mut view, &sample) && !view.help);
        assert!(!keys("sr ", &mut view));
        assert_eq!((view.sort, view.rising, view.paused), (3, true, true));
        assert!(!keys("/quit", &mut view), "letters of a filter are not commands");
        assert_eq!((view.filter.as_str(), view.typing), ("quit", true));
        press(KeyEvent::from(KeyCode::Esc), &mut view, &sample);
        assert_eq!((view.filter.as_str(), view.typing), ("", false));
        keys("++++++++", &mut view);
        assert_eq!(view.interval, 0.25);
        assert!(keys("q", &mut view));
        assert!(press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), &mut view, &sample));
    }
}
