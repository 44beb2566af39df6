#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "assistant"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Assistant {
    pub text: Option<String>,
}
runtime::impl_object! {
    Assistant("type" = "assistant") [] { text = "text" }
}
/// Tagged with `"type": "result"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    pub errors: Option<Vec<String>>,
    pub subtype: Option<FailureSubtype>,
}
runtime::impl_object! {
    Failure("type" = "result") [] { errors = "errors" subtype = "subtype" }
}
runtime::open_enum! {
    FailureSubtype { ErrorDuringExecution = "error_during_execution", ErrorMaxTurns =
    "error_max_turns", }
}
/// Tagged with `"type": "system"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Init {
    pub subtype: Option<InitSubtype>,
    pub tools: Option<Vec<String>>,
}
runtime::impl_object! {
    Init("type" = "system") [] { subtype = "subtype" tools = "tools" }
}
runtime::open_enum! {
    InitSubtype { Init = "init", }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// `assistant`
    Assistant(Assistant),
    /// `system/init`
    SystemInit(Init),
    /// `system/status`
    SystemStatus(Status),
    /// `result/success`
    ResultSuccess(Success),
    /// `result/error_during_execution`, `result/error_max_turns`
    ResultError(Failure),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Line {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("assistant", "Assistant"),
        ("system/init", "SystemInit"),
        ("system/status", "SystemStatus"),
        ("result/success", "ResultSuccess"),
        ("result/error_during_execution", "ResultError"),
        ("result/error_max_turns", "ResultError"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Assistant(_) => "Assistant",
            Self::SystemInit(_) => "SystemInit",
            Self::SystemStatus(_) => "SystemStatus",
            Self::ResultSuccess(_) => "ResultSuccess",
            Self::ResultError(_) => "ResultError",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Line {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Line";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "assistant" => runtime::read_variant!(place, object, Assistant),
            "result" => {
                let Some(found) = object.find_tag("subtype")? else {
                    let raw = object.into_unknown("result")?;
                    *place = Some(Self::Unknown {
                        tag: "result".to_owned(),
                        raw,
                    });
                    return Ok(());
                };
                let found = &*found;
                match found {
                    "error_during_execution" | "error_max_turns" => {
                        runtime::read_variant!(place, object, ResultError)
                    }
                    "success" => runtime::read_variant!(place, object, ResultSuccess),
                    unknown => {
                        let joined = format!("result/{unknown}");
                        let raw = object.into_unknown(&joined)?;
                        *place = Some(Self::Unknown { tag: joined, raw });
                        Ok(())
                    }
                }
            }
            "system" => {
                let Some(found) = object.find_tag("subtype")? else {
                    let raw = object.into_unknown("system")?;
                    *place = Some(Self::Unknown {
                        tag: "system".to_owned(),
                        raw,
                    });
                    return Ok(());
                };
                let found = &*found;
                match found {
                    "init" => runtime::read_variant!(place, object, SystemInit),
                    "status" => runtime::read_variant!(place, object, SystemStatus),
                    unknown => {
                        let joined = format!("system/{unknown}");
                        let raw = object.into_unknown(&joined)?;
                        *place = Some(Self::Unknown { tag: joined, raw });
                        Ok(())
                    }
                }
            }
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Line);
impl ::serde::Serialize for Line {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Assistant(payload) => payload.serialize(serializer),
            Self::SystemInit(payload) => payload.serialize(serializer),
            Self::SystemStatus(payload) => payload.serialize(serializer),
            Self::ResultSuccess(payload) => payload.serialize(serializer),
            Self::ResultError(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "system"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    pub status: Option<String>,
    pub subtype: Option<StatusSubtype>,
}
runtime::impl_object! {
    Status("type" = "system") [] { status = "status" subtype = "subtype" }
}
runtime::open_enum! {
    StatusSubtype { Status = "status", }
}
/// Tagged with `"type": "result"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Success {
    pub result: Option<String>,
    pub subtype: Option<SuccessSubtype>,
}
runtime::impl_object! {
    Success("type" = "result") [] { result = "result" subtype = "subtype" }
}
runtime::open_enum! {
    SuccessSubtype { Success = "success", }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["subtype", "type"];
impl runtime::Native for Line {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["type", "subtype"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
