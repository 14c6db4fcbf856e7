//! Chromium without a window, driven over its DevTools protocol through a pipe: JSON messages that end in a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

/// How long any answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Held by the browser that runs: several at once would only slow each other down.
static TURN: Mutex<()> = Mutex::new(());

/// A running browser with one page.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    // Removed after the browser has ended.
    _profile: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// What the reader looks at the page with.
#[derive(Clone, Copy)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub phone: bool,
    pub dark: bool,
}

impl Browser {
    /// Starts the browser of Debian's package `chromium`.
    pub fn start() -> Self {
        let program = Path::new("/usr/bin/chromium");
        assert!(program.exists(), "no browser: install the package chromium, or run make setup");
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().expect("a directory for the browser");
        // The protocol's pipes are descriptors 3 (to the browser) and 4 (from it).
        let mut process = Command::new("sh")
            .args(["-c", r#"exec 3<&0 4>&1; exec "$@" </dev/null >/dev/null 2>&1"#, "sh"])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh is there");
        let to = process.stdin.take().expect("piped");
        let mut output = BufReader::new(process.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("the browser sends JSON");
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self { process, to, from, session: None, sent: 0, _profile: profile, _turn: turn };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().expect("a session").to_string());
        browser.call("Page.enable", json!({}));
        browser
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path, screen: Screen) {
        let Screen { width, height, phone, dark } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": if phone { 2 } else { 1 }, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        self.call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while self.receive()["method"] != "Page.loadEventFired" {}
    }

    /// The value of a JavaScript expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// A PNG of the page as far as it is wanted, from its top.
    pub fn screenshot(&mut self, height: u32) -> Vec<u8> {
        let width = self.evaluate("window.innerWidth");
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let answer = self.call("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": true, "clip": clip}));
        base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().expect("an image")).expect("base64")
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut answer = self.receive();
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    fn receive(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser answers in time")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
