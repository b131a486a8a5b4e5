//! A headless Chromium, driven through its DevTools pipe: messages are JSON, each ended by a zero byte.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running browser with one page; it ends with this value.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// What the page complained about.
    pub(crate) complaints: Vec<String>,
    /// What the page asked for, beyond itself.
    pub(crate) requests: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium. It has to be there: `scripts/setup` installs it.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new("sh");
        // The pipe is file descriptors 3 and 4. Containers run tests as root, where Chromium has no sandbox.
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", "sh", "chromium"]);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]);
        command.args(["--no-first-run", "--disable-background-networking", "--disable-extensions", "--mute-audio"]);
        command.args(["--force-color-profile=srgb", "--font-render-hinting=none", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh starts");
        let input = child.stdin.take().expect("a pipe to the browser");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe from the browser"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while matches!(output.read_until(0, &mut message), Ok(length) if length > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            input,
            messages,
            next: 1,
            session: None,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let session = browser.call("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}))
            ["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        browser.session = Some(session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of the protocol and gives its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("JSON");
        bytes.push(0);
        self.input.write_all(&bytes).expect("no way to tell chromium anything; scripts/setup installs it");
        loop {
            let answer = self.receive();
            if answer["id"] == json!(id) {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("no answer from chromium; scripts/setup installs it");
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].to_string()),
            Some("Network.requestWillBeSent") => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        message
    }

    /// Opens a file in a window of this size and waits until it is there.
    pub(crate) fn open(&mut self, file: &Path, width: u32, height: u32) {
        self.resize(width, height);
        self.call("Page.navigate", &json!({"url": format!("file://{}", file.display())}));
        self.wait("document.readyState === 'complete' && document.querySelector('main, [role=alert]') !== null");
    }

    /// Gives the window another size.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        self.settle();
    }

    /// What an expression of JavaScript comes to.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let answer = self
            .call("Runtime.evaluate", &json!({"expression": expression, "returnByValue": true, "awaitPromise": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// What an expression comes to, as text.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        match self.eval(expression) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// What an expression comes to, as a number.
    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}, no number"))
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.eval(expression) != json!(true) {
            assert!(Instant::now() < end, "never: {expression}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until what was asked for has been drawn.
    pub(crate) fn settle(&mut self) {
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    }

    /// The middle of an element, which must be what a person would hit there.
    fn middle(&mut self, selector: &str) -> Value {
        let find = format!(
            "(() => {{ const e = document.querySelector({}); if (!e) return 'not there'; \
             e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); \
             const [x, y] = [b.x + b.width / 2, b.y + b.height / 2]; const hit = document.elementFromPoint(x, y); \
             return e.contains(hit) ? [x, y] : 'covered by ' + hit?.outerHTML; }})()",
            json!(selector)
        );
        let place = self.eval(&find);
        assert!(place.is_array(), "cannot reach {selector}: {place}");
        place
    }

    /// Clicks in the middle of an element.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                &json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
            );
        }
        self.settle();
    }

    /// Presses a key; what has the focus gets it.
    pub(crate) fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => Some("\r"),
            key if key.chars().count() == 1 => Some(key),
            _ => None,
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key});
            if let (Some(text), "keyDown") = (text, kind) {
                event["text"] = json!(text);
            }
            if key == "Tab" {
                event["windowsVirtualKeyCode"] = json!(9);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
        self.settle();
    }

    /// Turns the wheel over an element while the control key is down.
    pub(crate) fn wheel_with_control(&mut self, selector: &str, delta: f64) {
        let place = self.middle(selector);
        self.call(
            "Input.dispatchMouseEvent",
            &json!({"type": "mouseWheel", "x": place[0], "y": place[1], "deltaX": 0, "deltaY": delta, "modifiers": 2}),
        );
        self.settle();
    }

    /// Lets the page believe that the system is dark, or that it prints; motion would make tests wait.
    pub(crate) fn emulate(&mut self, scheme: &str, media: &str) {
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"media": media, "features": features}));
        self.settle();
    }

    /// A picture of the whole page, from its top.
    pub(crate) fn picture(&mut self, file: &Path) {
        self.eval("scrollTo(0, 0)");
        let answer = self.call("Page.captureScreenshot", &json!({"format": "png", "captureBeyondViewport": true}));
        let bytes = BASE64_STANDARD.decode(answer["data"].as_str().unwrap_or_default()).expect("a picture");
        std::fs::write(file, bytes).expect("a place for the picture");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends itself when asked; a browser that does not must not outlive its test.
        let session = self.session.take();
        let mut bytes = json!({"id": self.next, "method": "Browser.close"}).to_string().into_bytes();
        bytes.push(0);
        let asked = session.is_some() && self.input.write_all(&bytes).is_ok();
        let end = Instant::now() + Duration::from_secs(5);
        while asked && Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
