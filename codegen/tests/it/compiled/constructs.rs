//! Every construct decodes a sample into the right variant and encodes it unchanged.

use serde_json::json;

use crate::compiled::{decode, encode, round_trip};
use interlingua_native_runtime::{Json, Native as _, Union as _};

#[test]
fn a_union_of_references_is_an_enum_by_tag() {
    use crate::compiled::ref_union::{Event, Finished, Part, Started};
    let event =
        round_trip::<Event>(r#"{"type":"started","at":-5,"parts":[{"text":"a","bytes":18446744073709551615}]}"#);
    let part = Part { text: Some("a".to_owned()), bytes: Some(u64::MAX) };
    assert_eq!(event, Event::Started(Started { at: Some(-5), parts: Some(vec![part]) }));
    let event = round_trip::<Event>(r#"{"type":"finished","result":"fine","cost":0.25}"#);
    let Event::Finished(Finished { cost: Some(cost), last: None, .. }) = event else { panic!("{event:?}") };
    assert_eq!(cost.as_f64(), Some(0.25));
}

#[test]
fn a_union_has_its_tags_and_a_value_has_its_variant() {
    use crate::compiled::ref_union::Event;
    assert_eq!(Event::TAGS, [("started", "Started"), ("finished", "Finished")]);
    assert_eq!(decode::<Event>(r#"{"type":"finished"}"#).variant(), "Finished");
}

#[test]
fn any_of_members_without_a_definition_get_names() {
    use crate::compiled::any_of::{Message, MessageContentItem as Item};
    let message = round_trip::<Message>(
        r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","url":"x"},{"type":"audio.stop"}]}"#,
    );
    let variants: Vec<&str> = message.content.iter().flatten().map(Item::variant).collect();
    assert_eq!(variants, ["Text", "Image", "AudioStop"]);
}

#[test]
fn all_of_is_merged_into_one_object_and_into_the_members_of_a_union() {
    use crate::compiled::all_of::{FailedOutcome, Job, JobState, Outcome};
    let job = round_trip::<Job>(
        r#"{"id":"1","state":"running","owner":{"name":"me"},"outcome":{"kind":"failed","reason":"no","durationMs":7}}"#,
    );
    assert_eq!(job.state, Some(JobState::Running));
    let failed = FailedOutcome { reason: Some("no".to_owned()), duration_ms: Some(7) };
    assert_eq!(job.outcome, Some(Outcome::Failed(failed)));
}

#[test]
fn a_constant_is_an_enum_with_one_value_or_the_type_of_its_value() {
    use crate::compiled::constants::{Hello, HelloJsonrpc, HelloMixed};
    let hello = round_trip::<Hello>(r#"{"jsonrpc":"2.0","version":3,"ready":true,"rate":1.5,"mixed":1}"#);
    assert_eq!(hello.jsonrpc, Some(HelloJsonrpc::N20));
    assert_eq!(hello.mixed, Some(HelloMixed::Number(1)));
    assert_eq!(decode::<Hello>(r#"{"mixed":null,"nothing":null}"#), Hello::default());
}

#[test]
fn two_tag_keys_decide_the_variant() {
    use crate::compiled::two_key_tags::{Failure, FailureSubtype, Line};
    let variant = |text| round_trip::<Line>(text).variant();
    assert_eq!(variant(r#"{"type":"assistant","text":"hi"}"#), "Assistant");
    assert_eq!(variant(r#"{"type":"system","subtype":"init","tools":["Bash"]}"#), "SystemInit");
    assert_eq!(variant(r#"{"type":"system","subtype":"status","status":"compacting"}"#), "SystemStatus");
    assert_eq!(variant(r#"{"type":"result","subtype":"success","result":"42"}"#), "ResultSuccess");
    let failure = Failure { subtype: Some(FailureSubtype::ErrorMaxTurns), errors: None };
    assert_eq!(round_trip::<Line>(r#"{"type":"result","subtype":"error_max_turns"}"#), Line::ResultError(failure));
}

#[test]
fn a_variant_may_have_several_tags_and_several_members() {
    use crate::compiled::several_tags::{NoteStep, Step, StepStep, StepStepType};
    let closed = StepStep { at: Some(1), type_: Some(StepStepType::StepClosed) };
    assert_eq!(round_trip::<Step>(r#"{"type":"step.closed","at":1}"#), Step::Step(closed));
    let note = NoteStep { author: Some("me".to_owned()), text: None };
    assert_eq!(round_trip::<Step>(r#"{"type":"note","author":"me"}"#), Step::Note(note));
}

#[test]
fn a_message_by_method_and_params_has_its_siblings_in_an_envelope() {
    use crate::compiled::adjacent::{
        Notification, NotificationEnvelope, Request, RequestEnvelope, RequestId, TurnStarted,
    };
    let text = r#"{"id":7,"method":"turn/start","params":{"threadId":"t","input":[{"id":"a","text":"hi"}]}}"#;
    let request = round_trip::<RequestEnvelope>(text);
    assert_eq!(request.id, RequestId::Number(7));
    assert_eq!(request.message.variant(), "TurnStart");
    assert_eq!(decode::<Request>(text), request.message);
    assert_eq!(
        round_trip::<RequestEnvelope>(r#"{"id":"x","method":"names/list","params":["a"]}"#).message,
        Request::NamesList(vec!["a".to_owned()])
    );
    let text = r#"{"emittedAtMs":12,"method":"turn/started","params":{}}"#;
    let message = Notification::TurnStarted(TurnStarted { turn: None });
    assert_eq!(round_trip::<NotificationEnvelope>(text), NotificationEnvelope { emitted_at_ms: Some(12), message });
    assert_eq!(round_trip::<Notification>(r#"{"method":"idle"}"#), Notification::Idle);
}

#[test]
fn null_is_an_absent_field_but_is_kept_in_lists_and_maps() {
    use crate::compiled::nullable::{Address, Profile, ProfileByEnum};
    let nulls = r#"{"byType":null,"byUnion":null,"byKeyword":null,"byDefinition":null,"byEnum":null,"inList":null,
        "inMap":null,"listOrNull":null}"#;
    assert_eq!(decode::<Profile>(nulls), Profile::default());
    let profile = round_trip::<Profile>(
        r#"{"byType":"x","byUnion":{"street":"s"},"byKeyword":1,"byDefinition":{},"byEnum":"b","inList":["a",null],
            "inMap":{"home":null,"work":{}},"listOrNull":[1]}"#,
    );
    assert_eq!(profile.by_union, Some(Address { street: Some("s".to_owned()) }));
    assert_eq!(profile.by_enum, Some(ProfileByEnum::B));
    assert_eq!(profile.in_list, Some(vec![Some("a".to_owned()), None]));
    assert_eq!(profile.in_map.unwrap()["home"], None);
}

#[test]
fn an_enum_value_keeps_its_text_whatever_its_rust_name() {
    use crate::compiled::open_enum::{Value, Vote, VoteMode};
    let values = [
        ("inProgress", Value::InProgress),
        ("in_progress", Value::InProgress2),
        ("+1", Value::Plus1),
        ("1", Value::N1),
        ("", Value::Empty),
        ("unknown", Value::Unknown2),
        ("Self", Value::SelfValue),
        ("done", Value::Done),
    ];
    for (wire, value) in values {
        let vote = round_trip::<Vote>(&json!({ "value": wire, "mode": "read-only" }).to_string());
        assert_eq!(value.as_str(), wire);
        assert_eq!(vote, Vote { value: Some(value), mode: Some(VoteMode::ReadOnly), model: None });
    }
}

#[test]
fn types_may_contain_themselves() {
    use crate::compiled::recursive::{Any, Filter, Tree};
    let tree = round_trip::<Tree>(
        r#"{"label":"a","parent":{"label":"b"},"children":[{"children":[{"label":"c"}]}],"byName":{"x":{"label":"d"}},
            "filter":{"op":"not","inner":{"op":"all","inner":[{"op":"is","text":"x"}]}},
            "value":[true,{"of":[false]}]}"#,
    );
    assert_eq!(tree.parent.unwrap().label.as_deref(), Some("b"));
    let Some(Filter::Not(not)) = tree.filter else { panic!("{:?}", tree.filter) };
    assert_eq!(not.inner.unwrap().variant(), "All");
    let Some(Any::List(list)) = tree.value else { panic!("{:?}", tree.value) };
    assert!(matches!(list.as_slice(), [Any::Boolean(true), Any::Object(_)]));
}

#[test]
fn names_that_collide_get_numbers() {
    use crate::compiled::name_collisions::{CommandEnvelope, Everything, From2, Response, Union};
    let everything = round_trip::<Everything>(
        r#"{"a":{"x":"1"},"b":{"y":{"y":"2"}},"c":{"x":"3"},"d":{},"e":{},"f":"there","g":{},"h":{},"i":{"type":"a_b"},
            "j":{"method":"stop"},"type":"t","self":"s","fooBar":"f1","foo-bar":"f2","state":{"x":"4"}}"#,
    );
    assert_eq!(everything.f, Some(From2::There));
    assert_eq!(everything.i.unwrap().variant(), "AB2");
    assert_eq!(decode::<Everything>(r#"{"i":{"type":"a.b"}}"#).i.unwrap().variant(), "AB");
    assert_eq!(decode::<Everything>(r#"{"i":{"type":"unknown"}}"#).i.unwrap().variant(), "Unknown2");
    assert_eq!(Union::TAGS[0], ("unknown", "Unknown2"));
    let command = round_trip::<CommandEnvelope>(r#"{"type":"t","message":"m","method":"go","params":{"x":"1"}}"#);
    assert_eq!((command.type_.as_deref(), command.message_.as_deref()), (Some("t"), Some("m")));
    assert!(Response::decode("go", "{}").is_some());
}

#[test]
fn open_api_components_and_bodies_are_types() {
    use crate::compiled::open_api::{Event, Part, PromptBody, Session};
    let event = round_trip::<Event>(r#"{"type":"session.idle","properties":{"sessionID":"x"}}"#);
    let Event::SessionIdle(idle) = event else { panic!("{event:?}") };
    assert_eq!(idle.properties.unwrap().session_id.as_deref(), Some("x"));
    let body = round_trip::<PromptBody>(r#"{"noReply":true,"parts":[{"type":"file","size":3}]}"#);
    assert!(matches!(body.parts.unwrap().as_slice(), [Part::File(file)] if file.size == Some(3)));
    assert_eq!(round_trip::<Session>(r#"{"id":"s"}"#).id, "s");
}

#[test]
fn draft_07_tuples_generics_and_never() {
    use crate::compiled::draft_07::{Drawing, Shape};
    let drawing = round_trip::<Drawing>(r#"{"points":{"a":{"at":[1,2.5],"size":4,"shape":"cross"}}}"#);
    let points = drawing.points.unwrap();
    assert_eq!(points["a"].shape, Some(Shape::Cross));
    assert_eq!(points["a"].at.as_ref().unwrap()[1].get(), "2.5");
}

#[test]
fn draft_2020_12_definitions_tuples_and_true() {
    use crate::compiled::draft_2020_12::Drawing;
    let drawing = round_trip::<Drawing>(
        r#"{"shape":{"kind":"circle","radius":2},"origin":[0,"m"],"extra":{"any":[1]},"labels":["a"]}"#,
    );
    assert_eq!(drawing.shape.unwrap().variant(), "Circle");
    assert_eq!(drawing.extra, Some(Json::from(json!({ "any": [1] }))));
}

#[test]
fn a_union_by_json_kind_decodes_each_kind() {
    use crate::compiled::kinds::{Content, Message, MessageAnything, MessageStop, MessageStopText};
    let content = |text| round_trip::<Message>(text).content.unwrap();
    assert_eq!(content(r#"{"content":"hi"}"#), Content::Text("hi".to_owned()));
    let Content::List(blocks) = content(r#"{"content":[{"type":"result","content":[{"type":"text","text":"x"}]}]}"#)
    else {
        panic!("no list");
    };
    assert_eq!(blocks[0].variant(), "Result");
    let Content::Object(block) = content(r#"{"content":{"type":"text","text":"x"}}"#) else { panic!("no object") };
    assert_eq!(block.variant(), "Text");
    let stop = |text| round_trip::<Message>(text).stop.unwrap();
    assert_eq!(stop(r#"{"stop":true}"#), MessageStop::Boolean(true));
    assert_eq!(stop(r#"{"stop":3}"#), MessageStop::Number(3));
    assert_eq!(stop(r#"{"stop":"never"}"#), MessageStop::Text(MessageStopText::Never));
    let anything = round_trip::<Message>(r#"{"anything":{"a":{"b":1}}}"#).anything.unwrap();
    assert_eq!(anything, MessageAnything::Object(Json::from(json!({ "a": { "b": 1 } }))));
}

#[test]
fn an_object_without_known_keys_is_a_map_or_any_json() {
    use crate::compiled::maps::Settings;
    let settings = round_trip::<Settings>(
        r#"{"env":{"A":"1"},"servers":{"s":{"id":"x","port":1}},"nested":{"n":[1,2]},"free":{"f":null},"bare":{"b":[]},
            "empty":{}}"#,
    );
    assert_eq!(settings.env.unwrap()["A"], "1");
    assert_eq!(settings.servers.unwrap()["s"].id, "x");
    assert_eq!(settings.nested.unwrap()["n"], [1, 2]);
    assert_eq!(settings.free.unwrap().get(), r#"{"f":null}"#);
    assert_eq!(encode(&decode::<Settings>(r#"{"empty":{"later":1}}"#)), json!({ "empty": {} }));
}

#[test]
fn objects_without_a_tag_are_merged_into_one_struct() {
    use crate::compiled::merged::{Source, SourceSize};
    let file = round_trip::<Source>(r#"{"path":"/a","size":3}"#);
    assert_eq!((file.path.as_deref(), file.url), (Some("/a"), None));
    assert_eq!(file.size, Some(SourceSize::Number(3)));
    let page = round_trip::<Source>(r#"{"url":"b","size":"3 kB"}"#);
    assert_eq!(page.size, Some(SourceSize::Text("3 kB".to_owned())));
}

#[test]
fn only_the_tags_in_only_are_variants() {
    use crate::compiled::only::Request;
    assert_eq!(Request::TAGS, [("keep", "Keep"), ("also/keep", "AlsoKeep")]);
    assert_eq!(round_trip::<Request>(r#"{"method":"also/keep","params":{"x":"1"}}"#).variant(), "AlsoKeep");
}

#[test]
fn the_method_of_a_request_decides_the_type_of_its_response() {
    use crate::compiled::responses::{Response, ThreadStartResponse};
    assert_eq!(Response::REQUESTS, ["model/list", "thread/start"]);
    let text = r#"{"thread":{"id":"t"}}"#;
    let response = Response::decode("thread/start", text).unwrap().unwrap().value;
    assert_eq!(response, Response::ThreadStart(ThreadStartResponse::decode(text).unwrap().value));
    assert_eq!(serde_json::to_string(&response).unwrap(), text);
    assert!(Response::decode("thread/stop", text).is_none());
}

#[test]
fn names_in_the_settings_replace_generated_names() {
    use crate::compiled::names::{Message, Paragraph, Retry};
    let retry = round_trip::<Message>(r#"{"type":"http_retry","config":{"x":"1"}}"#);
    assert!(matches!(retry, Message::HttpRetry(Retry { config: Some(_) })));
    let Message::User(user) = round_trip::<Message>(r#"{"type":"user","content":[{"text":"hi"}]}"#) else {
        panic!("no user message");
    };
    assert_eq!(user.content, Some(vec![Paragraph { text: Some("hi".to_owned()) }]));
}
