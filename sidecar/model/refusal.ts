// What a failure means for the request: may it be asked again, when, and what a person is told. One judgement
// for all dialects, from status, headers and the error's own words; the same whether the error came as a
// response or inside a stream that began with HTTP 200.
//
// The classes matter more than the codes: `refused` is the pool's business and costs the agent nothing, `cut` may
// be asked again at once, `rejected` never helps to repeat. A 429 that says the account is empty is no refusal.

import type { ModelOutcome } from '../core/terms.ts';
import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { isObject, objectOf, textOf } from './dialect.ts';
import { headerOf, retryAtMs, type Headers } from './retryAfter.ts';

type Rejected = Extract<ModelOutcome, { kind: 'rejected' }>;

export interface Failure {
  /** 200 for an error inside a stream. */
  readonly status: number;
  readonly headers: Headers;
  /** The body as JSON, or as the text it is. */
  readonly body: Json;
  readonly receivedBytes: number;
  readonly nowMs: number;
}

/** What a failed request comes to. Messages never hold more of the server's text than `errorMessageChars`. */
export function judgeFailure(failure: Failure): ModelOutcome {
  const said = errorIn(failure.body);
  const words = `${said.code} ${said.type} ${said.message}`;
  const status = failure.status === 200 ? statusOf(said) : failure.status;
  const message = told(said.message, failure.status);
  const rejected = (code: Rejected['code']): Rejected => ({
    kind: 'rejected',
    code,
    message,
  });
  const retryAt = retryAtMs(failure.headers, failure.body, failure.nowMs);
  // Google words a limit of one minute like an empty account, but names the time at which it ends.
  const isPassingQuota = status === 429 && retryAt !== null && said.code !== 'insufficient_quota';
  if ((noCredit.test(words) && !isPassingQuota) || status === 402) return rejected('noCredit');
  if (tooLong.test(words) || status === 413 || (status === 400 && failure.body === '')) {
    const limitTokens = limitIn(said.message);
    return { ...rejected('contextTooLong'), ...(limitTokens === null ? {} : { limitTokens }) };
  }
  if (status === 400 && staleReasoning.test(words)) return rejected('staleReasoning');
  if (status < 500 && status !== 429 && unknownModel.test(words)) return rejected('modelUnknown');
  if (status === 401 || status === 403) return rejected('wrongKey');
  if (
    status === 429 ||
    status === 529 ||
    overloaded.test(words) ||
    (status === 503 && headerOf(failure.headers, 'retry-after') !== '')
  ) {
    return { kind: 'refused', retryAtMs: retryAt, message };
  }
  if (status === 404)
    return {
      kind: 'rejected',
      code: 'badRequest',
      message: `${message} Check the provider's base URL and the model's name.`,
    };
  if (300 <= status && status < 400) {
    const where = headerOf(failure.headers, 'location');
    return {
      kind: 'rejected',
      code: 'badRequest',
      message: `The server sends requests elsewhere (${where}). Set that as the base URL.`,
    };
  }
  const again = headerOf(failure.headers, 'x-should-retry');
  const isPassing = status === 408 || status === 409 || status === 425 || status >= 500;
  if (again === 'true' || (isPassing && again !== 'false')) {
    return { kind: 'cut', receivedBytes: failure.receivedBytes, message };
  }
  return rejected('badRequest');
}

interface Said {
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

/** The error in the forms of the dialects: {error: {...}}, {error: "..."}, {response: {error}}, {detail}, text. */
function errorIn(body: Json): Said {
  if (!isObject(body)) return { code: '', type: '', message: typeof body === 'string' ? body : '' };
  const response = objectOf(body['response']);
  const error = body['error'] ?? response['error'];
  if (typeof error === 'string') return { code: '', type: '', message: textOf(body['message']) || error };
  const inner = isObject(error) ? error : body;
  const metadata = objectOf(inner['metadata']);
  const message =
    textOf(inner['message']) || textOf(body['message']) || textOf(body['detail']) || JSON.stringify(body);
  // OpenRouter wraps what the model's own server said.
  const raw = textOf(metadata['raw']);
  const code = inner['code'] ?? inner['status'];
  return {
    code: typeof code === 'number' ? String(code) : textOf(code),
    type: textOf(inner['type']),
    message: raw === '' ? message : `${message}: ${raw}`,
  };
}

const statusByName: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  usage_limit_reached: 429,
  usage_not_included: 402,
  api_error: 500,
  server_error: 500,
  internal_server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The status that an error inside a stream would have had. Unknown ones count as the server's own failure. */
function statusOf(said: Said): number {
  const code = Number(said.code);
  if (400 <= code && code < 600) return code;
  return statusByName[said.code] ?? statusByName[said.type] ?? 500;
}

const noCredit =
  /insufficient_quota|insufficient[_ ](?:credits?|balance|funds)|credit balance is too low|exceeded your current quota|billing_hard_limit|billing_error|billing_not_active|account is not active|usage_not_included|spend(?:ing)? limit|out of credits|payment required/i;

// Each alternative is how one of the servers says that a conversation does not fit; the last two are general.
const tooLong =
  /prompt is too long|input is too long|exceeds? the context window|input token count[^.]*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages|maximum context length|exceeds the limit of \d+ tokens|exceeds the available context size|greater than the context length|context window exceeds limit|exceeded model token limit|too large for model with|request_too_large|request entity too large|payload too large|request too large for|context[_ ]length[_ ]exceeded|model_context_window_exceeded|prompt too long/i;

/** The tokens that a refusal says a model takes, in the words of the servers above; null when it names none. */
function limitIn(message: string): number | null {
  for (const form of limitForms) {
    const tokens = Number(form.exec(message)?.[1]?.replaceAll(/[,_]/g, ''));
    if (1_000 <= tokens && tokens <= 100_000_000) return tokens;
  }
  return null;
}

const limitForms: readonly RegExp[] = [
  /> ([\d,]+) maximum/,
  /maximum (?:context|prompt) length is ([\d,]+)/i,
  /([\d,]+) maximum context length/i,
  /maximum number of tokens allowed(?: is)?[ :(]*([\d,]+)/i,
  /exceeds the limit of ([\d,]+) tokens/i,
  /model token limit: ([\d,]+)/i,
  /available context size \(([\d,]+)/i,
  // What a minute may hold, a single request may not exceed either.
  /\(TPM\): Limit ([\d,]+)/,
];

// A signature that was made for another prefix or account, or an encrypted item that its server cannot read any more.
const staleReasoning =
  /invalid[ `'"]{1,3}signature|signature[^.]{0,40}(?:invalid|not valid|verif)|thinking[`'" ]{1,3}blocks?[^.]{0,80}(?:cannot be modified|must remain|invalid|not match)|(?:expected|must start with)[^.]{0,20}thinking|invalid_encrypted_content|encrypted[_ ]content[^.]{0,60}(?:verif|decrypt|invalid|pars)|thought[_ ]signature|item [^.]{0,80}of type 'reasoning'/i;

const unknownModel =
  /model_not_found|DeploymentNotFound|model[^.]{0,80}(?:does not exist|not found|is not available|not supported|is unknown)|not_found_error model:|no (?:such|allowed) model|unknown model|invalid model|is not a valid model|unsupported model|no endpoints found for/i;

const overloaded =
  /overloaded|over capacity|at capacity|rate[_ ]limit|too many requests|resource[_ ]exhausted|usage_limit_reached|server is busy|currently loading/i;

function told(message: string, status: number): string {
  const text = message
    .replace(/<[^>]{0,200}>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const cut = text.length > limits.errorMessageChars ? `${text.slice(0, limits.errorMessageChars)}…` : text;
  const sentence = cut === '' ? 'The server gave no reason.' : /[.!?\u2026]$/.test(cut) ? cut : `${cut}.`;
  return status === 200 ? sentence : `HTTP ${status}: ${sentence}`;
}
