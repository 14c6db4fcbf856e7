//! JSON_VALUE(document, path RETURNING type … ON EMPTY … ON ERROR): the scalar at a place as a value of a type.
//!
//! It is an error, in the sense of ON ERROR, if the text is no JSON, if the path finds several values or one that is no scalar, and if the
//! scalar is no value of the type. The path itself must be right.

use types::convert::ConvertMode;
use types::json::{JsonError, JsonPath};
use types::{Charset, Datum, DatumRef, EvalType, FieldType, JsonRef, TypeKind};

use crate::collation::Coercibility;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{Call, CallData, Expr, Func};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

/// What is answered instead of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonResponse {
    /// NULL.
    Null,
    /// An error (3966 for nothing found, else the one that happened).
    Error,
    /// The value of DEFAULT, which is an argument of its own.
    Default,
}

impl JsonResponse {
    fn letter(self) -> u8 {
        match self {
            Self::Null => b'n',
            Self::Error => b'e',
            Self::Default => b'd',
        }
    }
}

/// Its arguments: document, path, a letter for ON EMPTY and one for ON ERROR, their defaults.
static VALUE: Builtin = Builtin::new("json_value", (5, 5), &[Want::Any], |_| rt::json(), value).sees_null();

/// Builds JSON_VALUE. `defaults` stand for NULL where the response is another.
///
/// # Errors
/// A path that cannot be read or is no constant.
pub fn build_json_value(
    document: Expr,
    path: Expr,
    returning: FieldType,
    responses: [JsonResponse; 2],
    defaults: [Expr; 2],
    ctx: &BuildCtx<'_>,
) -> Result<Expr> {
    let Some(Datum::Bytes(text)) = path.as_constant() else { return Err(Error::WrongArguments { name: "json_value".to_owned() }) };
    JsonPath::parse(&String::from_utf8_lossy(text))?;
    let letters = Datum::Bytes(responses.map(JsonResponse::letter).to_vec());
    let [on_empty, on_error] = defaults;
    let args = vec![document, path, Expr::constant(letters, FieldType::varbinary(2)), on_empty, on_error];
    let (ty, collation) = (returning, ctx.eval.collation_connection);
    let coercibility = if ty.eval_type() == EvalType::String { Coercibility::Implicit } else { Coercibility::Numeric };
    Ok(Expr::Call(Box::new(Call { func: Func::Builtin(&VALUE), args, ty, collation, coercibility, data: CallData::None })))
}

fn value(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Null);
    }
    let respond = |at: usize, error: Error| match a.bytes(2).get(at) {
        Some(b'e') => Err(error),
        Some(b'd') => convert(a, &a.json_value(3 + at).to_binary()?),
        _ => Ok(Datum::Null),
    };
    let document = match a.document(0) {
        Ok(document) => document,
        Err(error) => return respond(1, error),
    };
    let found = a.path(1)?.find(JsonRef::new(&document));
    match &found[..] {
        [] => respond(0, JsonError::Missing { function: "json_value" }.into()),
        [one] if a.call.ty.tp == TypeKind::Json || !(one.is_array() || one.is_object()) => match convert(a, &one.to_binary()) {
            Ok(value) => Ok(value),
            Err(error) => respond(1, error),
        },
        _ => respond(1, JsonError::Several { function: "json_value" }.into()),
    }
}

/// A stored scalar as a value of the call's type; what does not fit is an error.
fn convert(a: &Args<'_>, stored: &[u8]) -> Result<Datum> {
    let (json, ty) = (JsonRef::new(stored), &a.call.ty);
    match ty.eval_type() {
        _ if json.kind() == types::json::JsonKind::Null => return Ok(Datum::Null),
        EvalType::Json => return Ok(Datum::Json(stored.to_vec())),
        EvalType::String => {
            let text = json.unquoted().into_owned();
            let charset = if ty.is_text() { ty.charset } else { Charset::Binary };
            let too_long = usize::try_from(ty.flen).is_ok_and(|most| charset.char_count(&text) > most);
            let error = || types::Error::TooLong { column: "json_value".to_owned(), row: 1 };
            return if too_long { Err(error().into()) } else { Ok(Datum::Bytes(text)) };
        }
        _ => {}
    }
    let mut refused = None;
    let mode = ConvertMode::default();
    let zone = &a.ctx.time_zone;
    let from = rt::json();
    let converted = types::convert::cast(DatumRef::Json(stored), &from, ty, mode, zone, &mut |error| {
        refused.get_or_insert(error.at_column("json_value", 1));
    })?;
    refused.map_or(Ok(converted), |error| Err(error.into()))
}
