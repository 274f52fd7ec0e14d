//! The server is asked over real connections, in each dialect, and must say what the script says.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use super::{NameServer, Script, Server, ServerOptions};

const SCRIPT: &str = r#"
plays:
  - name: work
    when: do the work
    turns:
      - think: Hm.
        say: I look, and then I do two things at once.
        do: [{shell: ls -l}, {read: a.txt}]
        usage: {input: 100, cache_write: 20, cache_read: 3, output: 40, reasoning: 5}
      - do: [{mcp: {server: my-lab, tool: echo, arguments: {text: hi}}}]
      - say: All of it is done.
        usage: {input: 7, output: 9}
  - name: slow
    when: be refused
    turns:
      - fault: {status: 429, kind: rate_limit_error, message: slow down, headers: {retry-after: "7"}}
        times: 2
      - say: now
  - name: broken
    when: break off
    turns: [{say: this sentence is long enough to be cut somewhere in the middle of it, cut: true}]
"#;

async fn server(keep: usize) -> Server {
    let script = Script::parse(SCRIPT).unwrap();
    let options = ServerOptions {
        keep,
        ..ServerOptions::default()
    };
    Server::start(script, options).await.unwrap()
}

/// The whole response to a request on a connection of its own.
async fn ask(server: &Server, request: (&str, &str), body: &Value) -> String {
    let (method, path) = request;
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nx-api-key: sk-very-secret\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // A cut answer may end in an error; what came before it counts.
    drop(stream.read_to_end(&mut response).await);
    String::from_utf8(response).unwrap()
}

/// The data of all server-sent events of a response.
fn events(response: &str) -> Vec<Value> {
    let lines = response
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

/// The conversation of each dialect: user's words, then so many results of tools.
fn body(path: &str, words: &str, results: usize) -> Value {
    let tools = ["Bash", "Read", "mcp__my-lab__echo"];
    let schema = json!({"properties": {"file_path": {}, "description": {}}});
    let results = 0..results;
    match path.rsplit('/').next().unwrap() {
        "messages" => {
            let told: Vec<Value> = results
                .map(|_| json!({"type": "tool_result", "content": "x"}))
                .collect();
            let tools = tools.map(|name| json!({"name": name, "input_schema": schema}));
            json!({"model": "m", "stream": true, "tools": tools, "system": "Primary working directory: /lab/w\nmore",
                "messages": [{"role": "user", "content": words}, {"role": "user", "content": told}]})
        }
        "responses" => {
            let told = results.map(|_| json!({"type": "function_call_output", "output": "x"}));
            let mut input =
                vec![json!({"role": "user", "content": [{"type": "input_text", "text": words}]})];
            input.extend(told);
            let tools =
                tools.map(|name| json!({"type": "function", "name": name, "parameters": schema}));
            json!({"model": "m", "stream": true, "tools": tools, "input": input, "instructions": "<cwd>/lab/w</cwd>"})
        }
        "completions" => {
            let mut messages = vec![
                json!({"role": "system", "content": "Working directory: /lab/w"}),
                json!({"role": "user", "content": words}),
            ];
            messages.extend(results.map(|_| json!({"role": "tool", "content": "x"})));
            let tools = tools.map(|name| json!({"type": "function", "function": {"name": name, "parameters": schema}}));
            json!({"model": "m", "stream": true, "tools": tools, "messages": messages})
        }
        _ => {
            let mut contents = vec![
                json!({"role": "user", "parts": [{"text": words}, {"text": "working directory: /lab/w"}]}),
            ];
            let told = results.map(|_| json!({"role": "user", "parts": [{"functionResponse": {"response": {"output": "x"}}}]}));
            contents.extend(told);
            let declared = tools.map(|name| json!({"name": name, "parametersJsonSchema": schema}));
            json!({"contents": contents, "tools": [{"functionDeclarations": declared}]})
        }
    }
}

const PATHS: [&str; 4] = [
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/m:streamGenerateContent",
];

/// What a dialect's stream says at its end: all input, what came from a cache, what was written to it, output.
fn counts(path: &str, events: &[Value]) -> Vec<u64> {
    let last = events.iter().rev();
    let found = |names: &[&str], of: &Value| -> Vec<u64> {
        names
            .iter()
            .map(|name| of.pointer(name).and_then(Value::as_u64).unwrap_or(0))
            .collect()
    };
    match path.rsplit('/').next().unwrap() {
        "messages" => {
            let usage = last
                .filter(|event| event["type"] == "message_delta")
                .map(|event| &event["usage"])
                .next()
                .unwrap();
            let mut all = found(
                &[
                    "/input_tokens",
                    "/cache_read_input_tokens",
                    "/cache_creation_input_tokens",
                    "/output_tokens",
                ],
                usage,
            );
            all[0] += all[1] + all[2];
            all
        }
        "responses" => {
            let names = [
                "/input_tokens",
                "/input_tokens_details/cached_tokens",
                "/input_tokens_details/cache_write_tokens",
                "/output_tokens",
            ];
            found(
                &names,
                &last
                    .map(|event| &event["response"]["usage"])
                    .next()
                    .unwrap()
                    .clone(),
            )
        }
        "completions" => {
            let names = [
                "/prompt_tokens",
                "/prompt_tokens_details/cached_tokens",
                "/nothing",
                "/completion_tokens",
            ];
            found(
                &names,
                &last.map(|event| &event["usage"]).next().unwrap().clone(),
            )
        }
        _ => {
            let usage = last.map(|event| &event["usageMetadata"]).next().unwrap();
            let mut all = found(
                &[
                    "/promptTokenCount",
                    "/cachedContentTokenCount",
                    "/nothing",
                    "/candidatesTokenCount",
                ],
                usage,
            );
            all[3] += usage["thoughtsTokenCount"].as_u64().unwrap();
            all
        }
    }
}

#[tokio::test]
async fn each_dialect_says_the_words_the_calls_and_the_counts_of_the_script() {
    let server = server(1 << 20).await;
    for path in PATHS {
        let response = ask(
            &server,
            ("POST", path),
            &body(path, "please do the work", 0),
        )
        .await;
        assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
        for said in [
            "I look, and then I do",
            "ls -l",
            "Bash",
            "Read",
            "/lab/w/a.txt",
            "Hm.",
        ] {
            assert!(
                response.contains(said),
                "{path} does not say {said}: {response}"
            );
        }
        let expected = [
            123,
            3,
            if path.ends_with("messages") || path.ends_with("responses") {
                20
            } else {
                0
            },
            40,
        ];
        assert_eq!(counts(path, &events(&response)), expected, "{path}");
        let response = ask(
            &server,
            ("POST", path),
            &body(path, "please do the work", 2),
        )
        .await;
        assert!(response.contains("mcp__my-lab__echo"), "{path}: {response}");
        let response = ask(
            &server,
            ("POST", path),
            &body(path, "please do the work", 3),
        )
        .await;
        assert!(
            response.contains("All of it is done."),
            "{path}: {response}"
        );
        assert_eq!(counts(path, &events(&response)), [7, 0, 0, 9], "{path}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 12);
    let turns: Vec<usize> = requests.iter().map(|request| request.turn).collect();
    assert_eq!(turns, [0, 1, 2].repeat(4));
    assert!(
        requests
            .iter()
            .all(|request| request.play.as_deref() == Some("work") && request.usage.is_some())
    );
}

#[tokio::test]
async fn what_is_asked_besides_and_what_no_play_fits_is_answered_outside_of_the_script() {
    let server = server(1 << 20).await;
    let mut title = body(PATHS[0], "do the work", 0);
    title["tools"] = json!([]);
    let response = ask(&server, ("POST", PATHS[0]), &title).await;
    assert!(response.contains("A scripted answer"), "{response}");
    let response = ask(
        &server,
        ("POST", PATHS[0]),
        &body(PATHS[0], "something else", 0),
    )
    .await;
    assert!(response.contains("No play of the script"), "{response}");
    for (request, expected) in [
        (("HEAD", "/"), "200"),
        (("GET", "/v1/models"), "gpt-5.5"),
        (("POST", "/v1/messages/count_tokens"), "input_tokens"),
        (("POST", "/v1beta/models/m:countTokens"), "totalTokens"),
        (("POST", "/v1/embeddings"), "404"),
        (("POST", "/v1/messages"), "200"),
    ] {
        let response = ask(&server, request, &json!("no conversation")).await;
        assert!(response.contains(expected), "{request:?}: {response}");
    }
    let requests = server.requests();
    assert!(requests[0].besides && !requests[1].besides);
    assert_eq!((requests[1].play.as_ref(), requests.len()), (None, 8));
}

#[tokio::test]
async fn a_fault_comes_with_its_headers_as_often_as_the_script_says_in_each_conversation() {
    let server = server(1 << 20).await;
    for words in ["be refused", "be refused, you too"] {
        for expected in ["429", "429", "200"] {
            let response = ask(&server, ("POST", PATHS[0]), &body(PATHS[0], words, 0)).await;
            assert!(
                response.starts_with(&format!("HTTP/1.1 {expected}")),
                "{response}"
            );
            assert_eq!(
                response.contains("retry-after: 7"),
                expected == "429",
                "{response}"
            );
            assert_eq!(
                response.contains("rate_limit_error"),
                expected == "429",
                "{response}"
            );
        }
    }
    let told = server
        .requests()
        .iter()
        .filter(|request| request.usage.is_some())
        .count();
    assert_eq!(told, 2);
}

#[tokio::test]
async fn a_cut_answer_breaks_off_in_the_middle_and_tells_no_counts() {
    let server = server(1 << 20).await;
    for path in PATHS {
        let response = ask(&server, ("POST", path), &body(path, "break off", 0)).await;
        assert!(
            response.starts_with("HTTP/1.1 200") && response.contains("this sentence"),
            "{path}: {response}"
        );
        assert!(
            !response.ends_with("0\r\n\r\n"),
            "{path} has an orderly end: {response}"
        );
        assert!(
            !response.contains("in the middle of it"),
            "{path} is whole: {response}"
        );
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.usage.is_none())
    );
}

#[tokio::test]
async fn a_tool_that_codex_lists_only_when_it_is_looked_for_is_looked_for_first() {
    let server = server(1 << 20).await;
    let mut asked = body(PATHS[1], "do the work", 2);
    asked["tools"] = json!([{"type": "tool_search"}, {"type": "function", "name": "exec_command"}]);
    let response = ask(&server, ("POST", PATHS[1]), &asked).await;
    assert!(
        response.contains("tool_search_call") && response.contains("my-lab echo"),
        "{response}"
    );
    let mut in_vain = asked.clone();
    let nothing = json!({"type": "tool_search_output", "tools": []});
    in_vain["input"].as_array_mut().unwrap().push(nothing);
    let response = ask(&server, ("POST", PATHS[1]), &in_vain).await;
    assert!(
        !response.contains("tool_search_call") && response.contains("mcp__my-lab__echo"),
        "{response}"
    );
    let found = json!({"type": "tool_search_output", "tools": [{"name": "mcp__my_lab", "tools": [{"type": "function", "name": "echo"}]}]});
    asked["input"].as_array_mut().unwrap().push(found);
    let response = ask(&server, ("POST", PATHS[1]), &asked).await;
    let call = events(&response)
        .into_iter()
        .find(|event| event["item"]["type"] == "function_call")
        .unwrap();
    assert_eq!(call["item"]["namespace"], "mcp__my_lab");
    assert_eq!(call["item"]["name"], "echo");
}

#[tokio::test]
async fn what_is_kept_has_a_limit_and_no_keys() {
    let server = server(5_000).await;
    for _ in 0..20 {
        ask(
            &server,
            ("POST", PATHS[0]),
            &body(PATHS[0], "do the work", 0),
        )
        .await;
    }
    let requests = server.requests();
    assert!((1..20).contains(&requests.len()), "{}", requests.len());
    assert!(
        !serde_json::to_string(&requests)
            .unwrap()
            .contains("very-secret")
    );
}

#[test]
fn a_script_that_is_none_is_told_with_its_place() {
    for (text, expected) in [
        ("plays: [{name: a, turns: []}]", "plays.a: `turns` is empty"),
        (
            "plays: [{name: a, turns: [{sya: x}]}]",
            "unknown field `sya`",
        ),
        (
            "plays: [{name: a, turns: [{do: [{dance: x}]}]}]",
            "plays[0].turns[0].do[0]",
        ),
        ("plays: 3", "plays"),
        ("- x: [", ""),
    ] {
        let told = Script::parse(text).unwrap_err().to_string();
        assert!(told.contains(expected), "{text}: {told}");
    }
}

#[tokio::test]
async fn the_name_server_knows_no_name_and_counts_the_questions() {
    let server = NameServer::start(0).await.unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut question = vec![0xAB, 0xCD, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in ["Api", "Example"] {
        question.push(u8::try_from(label.len()).unwrap());
        question.extend(label.bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    // What is no question is not answered, and harms nobody.
    for noise in [&question[..5], &question[..20], &[0xFF; 40]] {
        client.send_to(noise, server.address()).await.unwrap();
    }
    let mut reply = [0; 100];
    for _ in 0..2 {
        client.send_to(&question, server.address()).await.unwrap();
        let length = client.recv(&mut reply).await.unwrap();
        assert_eq!(&reply[..2], [0xAB, 0xCD]);
        assert_eq!((reply[2] & 0x80, reply[3] & 0x0F), (0x80, 3));
        assert_eq!(&reply[12..length], &question[12..]);
    }
    let told = server.questions();
    assert_eq!(
        (told.len(), told[0].name.as_str(), told[0].times),
        (1, "api.example", 2)
    );
}
