import { z } from 'zod';
import { parseEach, parseOr, type ReportProblem } from '#lib/settings/problems.ts';
import { SESSION_TOKEN_PREFIX } from './session-record.ts';

export const SCOPES = ['money', 'rounds', 'moderation', 'content'] as const;
export type Scope = (typeof SCOPES)[number];

/** A configured token. `expiresAt` is the time from which it is refused, ms since 1970; null when it does not expire. */
interface Token {
  readonly name: string;
  readonly token: string;
  readonly expiresAt: number | null;
}
/** An administrator token and its scopes. */
export interface AdminToken extends Token {
  readonly scopes: readonly Scope[];
}
/** A token of an internal service, which may only import. */
export type InternalToken = Token;

const MIN_LENGTH = 16;
const DAY_MS = 86_400_000;

/** The environment variables that configure tokens. */
export const AuthEnvironment = {
  /**
   * Amounts above which a second token must approve, per kind: `import:…,grant:…,limit:…`. import: base units that a token imports per day. grant:
   * points that a token gives per day, also by converting beta points and completing quests. limit: pool or cap of the reward rules, base units. A kind
   * without an amount needs no approval.
   */
  APPROVALS: z.string().default(''),
};

/**
 * Parses the last day on which a token is valid, `YYYY-MM-DD`, to the time at which it expires. Returns null for a text that is not a date.
 * @throws when the text has the form of a date but there is no such day
 */
function parseExpiry(variable: string, text: string | undefined): number | null {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const start = Date.parse(`${text}T00:00:00.000Z`);
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text) throw new Error(`${variable}: ${text} is not a day`);
  return start + DAY_MS;
}

/**
 * Parses an entry: `token`, which gets every scope and does not expire, or `name:scope+scope:token`, or `name:scope+scope:YYYY-MM-DD:token`. The date
 * is the last day (UTC) on which the token is valid. Errors do not contain the token.
 */
function parseToken<S extends string>(
  variable: string,
  prefix: string,
  all: readonly S[],
  text: string,
  index: number,
): Token & { scopes: readonly S[] } {
  const [name, scopes, ...rest] = text.split(':');
  const isNamed = name !== undefined && scopes !== undefined && rest.length > 0;
  if (!isNamed) return checkToken(variable, { name: `${prefix}-${index + 1}`, token: text, scopes: all, expiresAt: null });
  const known = scopes.split('+').map((scope) => all.find((one) => one === scope));
  if (known.includes(undefined)) throw new Error(`${variable}: the scopes of ${name} must be of: ${all.join(', ')}`);
  const expiresAt = rest.length > 1 ? parseExpiry(variable, rest[0]) : null;
  const token = (expiresAt === null ? rest : rest.slice(1)).join(':');
  return checkToken(variable, { name, token, scopes: known.filter((scope) => scope !== undefined), expiresAt });
}

/** @throws when a token is too short, or when requests would take it for the token of a session */
function checkToken<T extends Token>(variable: string, entry: T): T {
  if (entry.token.length < MIN_LENGTH) throw new Error(`${variable}: the token of ${entry.name} is shorter than ${MIN_LENGTH} characters`);
  if (entry.token.startsWith(SESSION_TOKEN_PREFIX)) {
    throw new Error(`${variable}: the token of ${entry.name} must not begin with ${SESSION_TOKEN_PREFIX}, which tokens of sessions begin with`);
  }
  return entry;
}

/** The kinds of actions that can need the approval of a second token. */
export const APPROVAL_KINDS = ['import', 'grant', 'limit'] as const;
export type ApprovalKind = (typeof APPROVAL_KINDS)[number];

/** The highest amount of each kind that needs no approval; null when the kind never needs one. */
export type ApprovalLimits = Readonly<Record<ApprovalKind, bigint | null>>;

const NO_APPROVALS: ApprovalLimits = { import: null, grant: null, limit: null };

function parseApprovals(text: string): ApprovalLimits {
  const limits: Record<ApprovalKind, bigint | null> = { ...NO_APPROVALS };
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const [name, amount, ...rest] = part.trim().split(':');
    const kind = APPROVAL_KINDS.find((one) => one === name);
    if (!kind || amount === undefined || rest.length > 0 || !/^\d{1,20}$/.test(amount)) {
      throw new Error(`APPROVALS: each entry must be ${APPROVAL_KINDS.join(', ')}, followed by a colon and a whole amount`);
    }
    limits[kind] = BigInt(amount);
  }
  return limits;
}

/**
 * Builds the configuration of tokens and approvals.
 * @param report gets a sentence when an entry is malformed, when two tokens have the same name or secret, or when approvals are required and nobody
 * could give one
 */
export function authConfig(e: { ADMIN_TOKENS: readonly string[]; INTERNAL_TOKENS: readonly string[]; APPROVALS: string }, report: ReportProblem) {
  const adminTokens: AdminToken[] = parseEach(report, e.ADMIN_TOKENS, (text, i) => parseToken('ADMIN_TOKENS', 'admin', SCOPES, text, i));
  const internalTokens: InternalToken[] = parseEach(report, e.INTERNAL_TOKENS, (text, i) =>
    parseToken('INTERNAL_TOKENS', 'internal', ['import'], text, i),
  );
  const all = [...adminTokens, ...internalTokens];
  const twice = all.find((one, i) => all.findIndex((other) => other.name === one.name || other.token === one.token) < i);
  if (twice) report(`ADMIN_TOKENS, INTERNAL_TOKENS: each token must have its own name and secret, but ${twice.name} repeats one`);
  const approvals = parseOr(report, NO_APPROVALS, () => parseApprovals(e.APPROVALS));
  const isRequired = APPROVAL_KINDS.some((kind) => approvals[kind] !== null);
  if (isRequired && adminTokens.filter(({ scopes }) => scopes.includes('money')).length < 2) {
    report('APPROVALS: ADMIN_TOKENS must have two tokens with the scope money, because one approves what the other requests');
  }
  return { adminTokens, internalTokens, approvals };
}
