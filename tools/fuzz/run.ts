import { ClientState } from './client-state.ts';
import { Connection, headerOf, type OutgoingRequest, type SendResult } from './connection.ts';
import { readDocument } from './document.ts';
import { findFaults } from './expectations.ts';
import { Random } from './random.ts';
import { withHostileFraming, withNormalFraming } from './requests/framing.ts';
import { mutateHeaders, mutatePath } from './requests/mutations.ts';
import { type Draft, RequestBuilder } from './requests/request-builder.ts';
import { violate } from './requests/violations.ts';
import type { Target } from './target.ts';

export interface RunOptions {
  readonly requests: number;
  readonly seed: number;
  /** Number of connections; each has one request in flight. */
  readonly connections?: number;
  /** Called with each fault. */
  readonly onFault?: (fault: string) => void;
  readonly onResult?: (draft: Draft, outcome: SendResult) => void;
  /** Returns the processor time of the service so far, ms. Without this function, stalls are not detected. */
  readonly cpuMs?: () => number;
}

/** Number of responses of an operation by status, for valid requests and for mutated requests. */
export interface Tally {
  readonly valid: Map<string, number>;
  readonly mutated: Map<string, number>;
}

export interface Report {
  readonly requests: number;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Faults, each with a description of its request. */
  readonly faults: readonly string[];
  readonly slowestMs: number;
  /** Maximum processor time between two consecutive responses, ms. */
  readonly stalledMs: number;
  readonly state: ClientState;
}

const MAX_FAULTS = 200;
/** Maximum number of timeouts. The run stops when it reaches this number. */
const MAX_TIMEOUTS = 30;
/**
 * Maximum processor time between two consecutive responses before a fault is reported, ms. One long computation blocks all connections. An algorithm
 * whose time grows faster than its input exceeds this limit.
 */
const MAX_STALL_MS = 500;
/**
 * Pattern of results that may occur although the request reached no handler: statuses with which the HTTP framework itself may reject a request, and
 * the ends of an exchange without a response (`closed`, `timeout`).
 */
const REJECTED_BEFORE_HANDLER = /^(?:400|401|403|405|408|413|415|417|431|closed|timeout)$/;

/** Returns the share of valid requests that certainly reached a handler, from 0 to 1. */
export function reachedShare({ tallies }: Report): number {
  let reached = 0;
  let all = 0;
  for (const { valid } of tallies.values()) {
    for (const [status, n] of valid) {
      all += n;
      if (!REJECTED_BEFORE_HANDLER.test(status)) reached += n;
    }
  }
  return reached / Math.max(1, all);
}

/**
 * Sends requests that are generated from the OpenAPI document. About half of the requests are valid. Others break a rule, so that the service must
 * reject them. The remaining requests have a mutated value, header, path or framing. Request number n of a seed is always generated in the same way,
 * except for values from earlier responses.
 */
export async function fuzz(target: Target, { requests, seed, connections = 24, onFault, onResult, cpuMs }: RunOptions): Promise<Report> {
  const document = await readDocument(target.url);
  const state = new ClientState(target);
  await state.open();
  const streaming = document.operations.filter(({ bodies }) => Object.keys(bodies).some((type) => type !== 'application/json'));
  const builder = new RequestBuilder(document, state);
  const { port, host } = new URL(target.url);
  const tallies = new Map(document.operations.map(({ name }): [string, Tally] => [name, { valid: new Map(), mutated: new Map() }]));
  const faults: string[] = [];
  let slowestMs = 0;
  let next = 0;
  let timeouts = 0;
  let failedSignIns = 0;
  let previous: { draft: Draft; outgoing: OutgoingRequest } | null = null;

  function make(n: number): { draft: Draft; outgoing: OutgoingRequest } {
    const random = new Random(seed, n);
    // Chooses operations with streamed bodies more often, because they are few but have many error cases.
    const operation = streaming.length > 0 && random.chance(0.05) ? random.pick(streaming) : document.operations[n % document.operations.length];
    if (!operation) throw new Error('the OpenAPI document has no operations');
    const kind = random.int(0, 99);
    // Sometimes sends the previous request again while the service still handles it. Does this more often if the previous request has an idempotency
    // key.
    const hasKey = previous?.draft.headers.some(([name]) => name === 'Idempotency-Key');
    if (previous && kind < (hasKey ? 30 : 3)) return previous;
    const draft = kind >= 58 && kind < 75 ? builder.mutated(operation, random) : builder.valid(operation, random);
    if (kind >= 50 && kind < 58) violate(draft, random, state);
    if (kind >= 75 && kind < 87) mutateHeaders(draft, random, state);
    if (kind >= 87 && kind < 92) mutatePath(draft, random, state);
    previous = { draft, outgoing: kind >= 92 ? withHostileFraming(draft, host, random) : withNormalFraming(draft, host) };
    return previous;
  }

  const inFlight = new Set<string>();
  let [lastCpuMs, stalledMs] = [cpuMs?.() ?? 0, 0];
  /** Reports a fault when the processor time since the previous response is too long. */
  function checkStall(): void {
    const now = cpuMs?.() ?? 0;
    const ms = now - lastCpuMs;
    lastCpuMs = now;
    stalledMs = Math.max(stalledMs, ms);
    if (ms > MAX_STALL_MS)
      reportFault(`no response during ${ms} ms of processor time; one of these requests was in progress:\n${[...inFlight].join('\n')}`);
  }

  function reportFault(fault: string): void {
    if (faults.length >= MAX_FAULTS) return;
    faults.push(fault);
    onFault?.(fault);
  }

  function record(n: number, draft: Draft, outgoing: OutgoingRequest, outcome: SendResult): void {
    onResult?.(draft, outcome);
    const tally = tallies.get(draft.operation.name);
    const counts = draft.mutations.length === 0 ? tally?.valid : tally?.mutated;
    const status = String(outcome.responses[0]?.status ?? outcome.end);
    counts?.set(status, (counts.get(status) ?? 0) + 1);
    slowestMs = Math.max(slowestMs, ...outcome.responses.map((answer) => answer.ms));
    for (const fault of findFaults(draft, outcome, state)) reportFault(`${fault}\n${describe(seed, n, draft, outgoing, outcome)}`);
  }

  async function sendRequests(): Promise<void> {
    const connection = new Connection(Number(port));
    while (next < requests && timeouts < MAX_TIMEOUTS) {
      const n = next++;
      const { draft, outgoing } = make(n);
      // A request with an undocumented response gets its own connection, because the service may close that connection.
      const requestConnection = draft.isUndocumented ? new Connection(Number(port)) : connection;
      const name = `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.mutations.map((mutation) => `, ${mutation}`).join('')}`;
      inFlight.add(name);
      const outcome = await requestConnection.send(outgoing);
      checkStall();
      inFlight.delete(name);
      if (requestConnection !== connection) requestConnection.close();
      if (outcome.end === 'timeout') timeouts++;
      record(n, draft, outgoing, outcome);
      await learnFrom(state, draft, outcome).then(
        () => {
          failedSignIns = 0;
        },
        (error: unknown) => {
          // Ignores the failed sign-in of a player, because the player signs in again after the next response with status 401.
          if (++failedSignIns < MAX_TIMEOUTS) return;
          reportFault(`players cannot sign in: ${error}`);
          timeouts = MAX_TIMEOUTS;
        },
      );
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: connections }, sendRequests));
  return { requests, tallies, faults, slowestMs, stalledMs, state };
}

const wordsOf = (path: string) => path.split('/').filter((word) => word !== '' && !word.startsWith('{'));

/** Stores session ids, ETags and ids of a response for later requests. */
async function learnFrom(state: ClientState, draft: Draft, { responses }: SendResult): Promise<void> {
  const [answer] = responses;
  if (!answer) return;
  for (const [name, value] of answer.headers) if (name === 'set-cookie') state.noteCookie(value);
  // Signs the player in again when the session has ended: after status 401, after a logout, or after a sign-in with another wallet.
  const { player, mutations } = draft;
  if (player && ((answer.status === 401 && mutations.length === 0) || (answer.status === 200 && /^.auth.(?:logout|verify)/.test(draft.path)))) {
    await state.signIn(player);
  }
  if (answer.status >= 300) return;
  const etag = headerOf(answer, 'etag');
  if (etag !== undefined && state.etags.length < 100) state.etags.push(etag);
  if (!/^application\/json/.test(headerOf(answer, 'content-type') ?? '') || answer.body.length > 100_000) return;
  const body: unknown = JSON.parse(answer.body.toString('utf8') || 'null');
  state.rememberIds(wordsOf(draft.operation.path), body);
  if (mutations.length === 0) state.followUps.add(draft.operation.name, { players: state.players, player, path: draft.path, answer: body });
}

function describe(seed: number, n: number, draft: Draft, { bytes }: OutgoingRequest, { responses, rest, end }: SendResult): string {
  const shown = (buffer: Buffer, maxBytes: number) => {
    const text = JSON.stringify(buffer.toString('latin1', 0, maxBytes));
    return buffer.length > maxBytes ? `${text}… (${buffer.length} bytes)` : text;
  };
  const got = responses.map(({ status, body, ms }) => `${status} after ${Math.round(ms)} ms: ${shown(body, 600)}`);
  return [
    `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.mutations.length > 0 ? `, mutated: ${draft.mutations.join(', ')}` : ''}`,
    `  sent     ${shown(bytes, 1_500)}`,
    ...got.map((line) => `  response ${line}`),
    ...(rest.length > 0 ? [`  rest     ${shown(rest, 300)}`] : []),
    `  ${end}`,
  ].join('\n');
}
