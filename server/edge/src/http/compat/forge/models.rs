//! The models and providers of forge-ui: the agents are the models of one provider. A model that a user adds
//! is another name for the agent behind the door. Nothing of it changes the agents; see [`crate::shelf`].

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use event_log::blocking;
use model::code::ErrorCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::http::compat::{behind, object, read};
use crate::inbound::params::Path;
use crate::inbound::problem::Problem;
use crate::shelf::Shelf;
use crate::shelf::{Change, Model, PROVIDER, Power, no_provider};
use ::agents::{Agents, Toolbox};
use agents::Refusal;
use event_log::clock;

/// How long an MCP server may take to list its tools.
/// A person looks at the form meanwhile.
const VALIDATED_WITHIN: Duration = Duration::from_secs(10);

/// The provider and the model in a path.
type Named = Path<(String, String)>;

/// The models that are shown: the agents and the names that users added, without those that were hidden.
fn models_of(shelf: &Shelf, agents: &Agents) -> Result<Vec<Model>, Refusal> {
    blocking(|| shelf.models(agents.names()))
}

/// `GET /compat/forge/models`: all models. The hub knows neither prices nor lengths of contexts, so these are
/// 0; all claim tools and no images.
pub(super) async fn all(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
) -> Result<Json<Value>, Problem> {
    let models = models_of(&shelf, &agents)?;
    let told = |model: &Model| {
        json!({
            "id": model.id, "name": model.display_name(), "provider": model.provider, "context_length": 0,
            "pricing": {"prompt": 0.0, "completion": 0.0},
            "supports_tools": true, "supports_vision": false, "modality": "text->text", "created": null,
        })
    };
    let mut providers: Vec<&str> = models.iter().map(|model| model.provider.as_str()).collect();
    providers.dedup();
    let models: Vec<Value> = models.iter().map(told).collect();
    Ok(Json(json!({"providers": providers, "models": models, "cached_at": null})))
}

/// `POST /compat/forge/models/refresh`: counts the models and their providers. There is nothing to fetch.
pub(super) async fn refresh(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
) -> Result<Json<Value>, Problem> {
    let models = models_of(&shelf, &agents)?;
    let mut providers: Vec<&str> = models.iter().map(|model| model.provider.as_str()).collect();
    providers.dedup();
    let (models, providers) = (models.len(), providers.len());
    Ok(Json(json!({"status": "refreshed", "model_count": models, "provider_count": providers})))
}

/// `GET /compat/forge/models/grouped`: the models by provider, the favourites and the default.
pub(super) async fn grouped(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    State(shelf): State<Arc<Shelf>>,
) -> Result<Json<Value>, Problem> {
    let models = models_of(&shelf, &agents)?;
    let mut groups: Map<String, Value> = Map::new();
    for (provider, _, is_on) in blocking(|| shelf.providers(agents.names()))? {
        let of = models.iter().filter(|model| model.provider == provider).map(Model::told);
        if is_on {
            let chat: Vec<Value> = of.collect();
            groups.insert(provider, json!({"chat": chat, "embedding": [], "other": []}));
        }
    }
    let named = |provider: &str, id: &str| json!({"provider": provider, "model_id": id});
    let favorites = models.iter().filter(|model| model.is_favorite());
    let favorites: Vec<Value> = favorites.map(|model| named(&model.provider, &model.id)).collect();
    let default = behind((&agents, &config), "forge", None).ok();
    let default = default.map(|name| named(PROVIDER, &name));
    Ok(Json(json!({"providers": groups, "favorites": favorites, "recent": [], "default_model": default})))
}

/// `GET /compat/forge/providers`: the providers and whether their models are shown.
pub(super) async fn providers(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
) -> Result<Json<Value>, Problem> {
    let told = |(id, count, is_on): (String, usize, bool)| {
        let is_own = id == PROVIDER;
        let name = if is_own { "Fanlight" } else { &id };
        json!({
            "id": id, "name": name, "configured": true, "has_api": is_own, "model_count": count, "enabled": is_on,
        })
    };
    let providers = blocking(|| shelf.providers(agents.names()))?;
    Ok(Json(json!({"providers": providers.into_iter().map(told).collect::<Vec<_>>()})))
}

/// `POST /compat/forge/models` with `provider` and `model_id`: adds a name for the agent behind the door. 400
/// if a field is missing; the shelf refuses more models than it may hold.
pub(super) async fn add(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let fields = object(&read(&headers, request).await?)?;
    let (provider, id) = (text(&fields, "provider")?, text(&fields, "model_id")?);
    let change: Change = said(&fields)?;
    let now = clock::now_ms();
    let model = blocking(|| shelf.add(agents.names(), (&provider, &id), &change, now))?;
    Ok(Json(json!({"status": "created", "model": model.told()})))
}

/// `PUT /compat/forge/models/{provider}/{model}`: makes a model a favourite, renames it, or changes what it
/// claims to support. Fields that the body leaves out stay as they are.
pub(super) async fn update(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
    Path((provider, id)): Named,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let change: Change = said(&object(&read(&headers, request).await?)?)?;
    let model = blocking(|| shelf.update(agents.names(), (&provider, &id), &change))?;
    Ok(Json(json!({"status": "updated", "model": model.told()})))
}

/// `DELETE /compat/forge/models/{provider}/{model}`: hides a model. The agent stays, and `fetch` shows it
/// again.
pub(super) async fn remove(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
    Path((provider, id)): Named,
) -> Result<Json<Value>, Problem> {
    blocking(|| shelf.remove(agents.names(), (&provider, &id)))?;
    Ok(Json(json!({"status": "deleted", "provider": provider, "model_id": id})))
}

/// `POST /compat/forge/models/fetch`: shows all agents again.
pub(super) async fn fetch(
    State(agents): State<Arc<Agents>>,
    State(shelf): State<Arc<Shelf>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let provider = text(&object(&read(&headers, request).await?)?, "provider")?;
    let count = agents.names().count();
    let (added, updated) = blocking(|| shelf.fetch(&provider, count))?;
    Ok(Json(json!({
        "status": "success", "provider": provider, "models_added": added, "models_updated": updated,
        "deprecated": [],
    })))
}

/// `GET /compat/forge/models/suggestions/{provider}`: the agents; the one behind the door is recommended. Any
/// provider other than the hub's own is refused.
pub(super) async fn suggestions(
    State(agents): State<Arc<Agents>>,
    State(config): State<Arc<Config>>,
    Path(provider): Path<String>,
) -> Result<Json<Value>, Problem> {
    if provider != PROVIDER {
        return Err(no_provider(&provider).into());
    }
    let best = behind((&agents, &config), "forge", None).ok();
    let told = |name: &str| json!({"id": name, "display_name": name, "recommended": best.as_ref().is_some_and(|best| best == name)});
    let suggestions: Vec<Value> = agents.names().map(told).collect();
    Ok(Json(json!({"provider": provider, "suggestions": suggestions})))
}

/// `PUT /compat/forge/providers/{provider}` with `enabled`: sets whether its models are shown.
pub(super) async fn turn(
    State(shelf): State<Arc<Shelf>>,
    Path(provider): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let fields = object(&read(&headers, request).await?)?;
    let enabled = fields.get("enabled").and_then(Value::as_bool);
    let enabled = enabled.ok_or_else(|| wrong("enabled: true or false is expected"))?;
    let power = if enabled { Power::On } else { Power::Off };
    blocking(|| shelf.turn(&provider, power))?;
    Ok(Json(json!({"status": "updated", "provider": provider, "enabled": enabled})))
}

/// `POST /compat/forge/mcp/validate` with `url` and perhaps `api_key`: tries to reach an MCP server and lists
/// its tools. A server that fails is an answer with `valid: false` and not an error. Nothing is kept.
pub(super) async fn validate(
    State(tools): State<Arc<Toolbox>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Value>, Problem> {
    let fields = object(&read(&headers, request).await?)?;
    let url = text(&fields, "url")?;
    let key = fields.get("api_key").and_then(Value::as_str).filter(|key| !key.is_empty());
    Ok(Json(match tools.probe(&url, key, VALIDATED_WITHIN).await {
        Ok(tools) => json!({"valid": true, "tool_count": tools.len(), "tools": tools, "error": null}),
        Err(why) => json!({"valid": false, "tool_count": 0, "tools": [], "error": why}),
    }))
}

/// A field that must be a text with at least one character.
fn text(fields: &Value, name: &str) -> Result<String, Refusal> {
    let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(&format!("{name}: a text is expected")))
}

/// Parses the fields that describe a model; unknown ones are ignored as the type says. Fails with
/// `bad_request`.
fn said<T: DeserializeOwned>(fields: &Value) -> Result<T, Refusal> {
    serde_json::from_value(fields.clone())
        .map_err(|error| wrong(&format!("what is said of the model: {error}")))
}

/// A refusal of a request that is wrong.
fn wrong(why: &str) -> Refusal {
    Refusal::new(ErrorCode::BadRequest, why)
}
