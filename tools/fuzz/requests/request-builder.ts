import { mp4 } from '#test/support/areas/clips.ts';
import { standardHeaders, xHeaders } from '#test/support/http/webhook.ts';
import { type ClientState, singular } from '../client-state.ts';
import type { Document, Operation } from '../document.ts';
import type { Player } from '../player.ts';
import type { Random } from '../random.ts';
import { hostileText, mutateJsonText, mutateValue } from './hostile-values.ts';
import { TEMPLATES } from './request-templates.ts';
import { Values } from './values.ts';

/** A request under construction. Its parts are separate, so that each part can be mutated. */
export interface Draft {
  readonly operation: Operation;
  method: string;
  /** URL-encoded path, without the query. */
  path: string;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body: Buffer | null;
  player: Player | null;
  /** Names of the mutations; empty for a valid request. */
  readonly mutations: string[];
  /** Whether headers, method, path or framing were changed so that the OpenAPI document does not describe the response. */
  isUndocumented: boolean;
  /** Whether the request concerns an object that belongs to `player`. */
  readonly isOwn: boolean;
  /** Statuses that the service may return for a request that it must reject; null for all other requests. */
  expectedStatuses: readonly number[] | null;
}

const PERIODS = ['day', 'week', 'month', 'year'] as const;
const ENDED_DAYS = 400;
const KEYS = Array.from({ length: 12 }, (_, i) => `shared-key-${i}`);

const today = (): number => Math.floor(Date.now() / 86_400_000);

/** Generates requests from the OpenAPI document and the client state. */
export class RequestBuilder {
  readonly #document: Document;
  readonly #state: ClientState;

  constructor(document: Document, state: ClientState) {
    this.#document = document;
    this.#state = state;
  }

  /** Returns a valid request. */
  valid(operation: Operation, random: Random): Draft {
    return this.#make(operation, random, false);
  }

  /** Returns a request with an invalid value in its path, query or body. */
  mutated(operation: Operation, random: Random): Draft {
    return this.#make(operation, random, true);
  }

  #make(operation: Operation, random: Random, isMutated: boolean): Draft {
    const values = new Values(this.#document.schemas, this.#state, random);
    const template = this.#state.followUps.take(operation.name, random) ?? TEMPLATES[operation.name]?.({ random, state: this.#state, values }) ?? {};
    const caller = random.pick(operation.callers);
    const player = template.player ?? (caller === 'session' ? random.pick(this.#state.players) : null);
    const draft: Draft = {
      ...{
        operation,
        method: operation.method,
        path: operation.path,
        query: [],
        headers: [],
        body: null,
        player,
        mutations: [],
        isUndocumented: false,
        isOwn: template.isOwn ?? false,
        expectedStatuses: null,
      },
    };
    const parts = isMutated ? this.#mutatedParts(operation, random) : { path: null, query: false, body: false };
    draft.path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = template.params?.[name] ?? this.#parameter(operation, name, values, random);
      return encodeURIComponent(parts.path === name ? hostileText(random, 600).toWellFormed() : String(value));
    });
    for (const parameter of operation.parameters) {
      if (parameter.in !== 'query' || !(parameter.required || random.chance(0.4))) continue;
      draft.query.push([parameter.name, String(template.query?.[parameter.name] ?? values.of(parameter.schema, parameter.name))]);
    }
    // The query parameter `at` also needs the query parameter `period`, and the query parameter `around` needs a session.
    if (draft.query.some(([name]) => name === 'at'))
      draft.query = [...draft.query.filter(([name]) => name !== 'period'), ['period', random.pick(PERIODS)]];
    if (draft.query.some(([name]) => name === 'around')) draft.player ??= random.pick(this.#state.players);
    if (parts.query) mutateQuery(draft, random);
    this.#headers(draft, random);
    this.#body(draft, template.body, parts.body, values, random);
    if (isMutated) draft.mutations.push(parts.path !== null ? 'path value' : parts.query ? 'query' : parts.body ? 'body' : 'none');
    this.sign(draft, caller, random);
    return draft;
  }

  /** Chooses at random which part of a request is mutated: one path value, the query or the body. */
  #mutatedParts(operation: Operation, random: Random): { path: string | null; query: boolean; body: boolean } {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
    const hasBody = operation.method !== 'GET';
    const kind = random.pick([...(inPath.length > 0 ? ['path'] : []), ...(hasBody ? ['body', 'body', 'body'] : []), 'query']);
    return { path: kind === 'path' ? random.pick(inPath) : null, query: kind === 'query', body: kind === 'body' };
  }

  #parameter(operation: Operation, name: string, values: Values, random: Random): unknown {
    const words = operation.path.split('/');
    const before = words[words.indexOf(`{${name}}`) - 1] ?? '';
    const kinds = name === 'id' ? [before] : /Id$/.test(name) ? [before, name.slice(0, -2)] : [];
    const known = random.chance(0.85) ? kinds.map((kind) => this.#state.recall(singular(kind), random)).find((one) => one !== undefined) : undefined;
    const schema = operation.parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema ?? {};
    return known ?? values.of(schema, name);
  }

  #headers({ operation, headers }: Draft, random: Random): void {
    const names = new Set(operation.parameters.filter((parameter) => parameter.in === 'header').map((parameter) => parameter.name));
    const etag = this.#state.etags.length > 0 ? random.pick(this.#state.etags) : '"none"';
    if (names.has('Idempotency-Key') && random.chance(0.4)) headers.push(['Idempotency-Key', random.chance(0.4) ? random.pick(KEYS) : random.uuid()]);
    if (names.has('If-None-Match') && random.chance(0.3)) headers.push(['If-None-Match', etag]);
    if (names.has('If-Match') && random.chance(0.2)) headers.push(['If-Match', etag]);
    if (random.chance(0.3)) headers.push(['Origin', new URL(this.#state.target.publicUrl).origin]);
    // Lets the service wait at most one second for the chain.
    if (operation.method === 'POST') headers.push(['Prefer', 'wait=1']);
  }

  #body(draft: Draft, given: unknown, isMutated: boolean, values: Values, random: Random): void {
    const { operation, headers } = draft;
    const types = Object.keys(operation.bodies);
    if (operation.method === 'GET' || (types.length === 0 && !isMutated)) return;
    const type = types.length === 0 ? 'application/json' : random.pick(types);
    const { schema = {}, example } = operation.bodies[type] ?? {};
    if (type === 'multipart/form-data') {
      this.#form(draft, isMutated, random);
      return;
    }
    if (types.length > 0 && !operation.isBodyRequired && !this.#isWebhook(operation) && given === undefined && random.chance(0.2)) return;
    const value = given ?? (example !== undefined && random.chance(0.6) ? values.like(example) : values.of(schema, ''));
    headers.push(['Content-Type', type]);
    if (type === 'application/x-ndjson') {
      const lines = this.#lines(random).map((line) => JSON.stringify(isMutated && random.chance(0.3) ? mutateValue(line, random) : line));
      draft.body = Buffer.from(lines.join('\n'));
    } else if (!isMutated) draft.body = Buffer.from(JSON.stringify(value));
    else if (random.chance(0.7)) draft.body = Buffer.from(JSON.stringify(mutateValue(value, random)) ?? 'undefined');
    else draft.body = mutateJsonText(JSON.stringify(value), random);
  }

  #isWebhook({ callers }: Operation): boolean {
    return callers.some((caller) => caller.startsWith('webhook'));
  }

  /** Returns the lines of an NDJSON import of an epoch: the epoch, then one reward per player. */
  #lines(random: Random): object[] {
    const { players } = this.#state;
    const rows = players.slice(random.int(0, players.length - 1)).map(({ address }) => ({ wallet: address, amount: String(random.int(1, 1_000)) }));
    return [{ epoch: today() - random.int(1, ENDED_DAYS) }, ...rows];
  }

  #form(draft: Draft, isMutated: boolean, random: Random): void {
    const boundary = `x${random.text(12)}`;
    const gameId = String(this.#state.recall('game', random));
    const hostile = () => (isMutated && random.chance(0.4) ? hostileText(random, 5_000).toWellFormed() : undefined);
    const part = (name: string, value: string | Buffer, more = '') =>
      Buffer.concat([
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${hostile() ?? name}"${more}\r\n\r\n`),
        ...(typeof value === 'string' ? [Buffer.from(hostile() ?? value)] : [value]),
        Buffer.from('\r\n'),
      ]);
    const parts = [
      part('gameId', gameId),
      ...(random.chance(0.5) ? [part('title', `Clip ${random.int(1, 999)}`)] : []),
      part(
        'file',
        mp4(random.int(200, 4_000), random.next()),
        `; filename="${hostile() ?? 'clip.mp4'}"\r\nContent-Type: ${hostile() ?? 'video/mp4'}`,
      ),
    ];
    const more = isMutated && random.chance(0.3) ? Array.from({ length: random.pick([1, 30, 500]) }, (_, i) => part(`f${i}`, 'x')) : [];
    const end = isMutated && random.chance(0.3) ? '' : `--${boundary}--\r\n`;
    draft.headers.push(['Content-Type', `multipart/form-data; boundary=${isMutated && random.chance(0.1) ? 'other' : boundary}`]);
    draft.body = Buffer.concat([...parts, ...more, Buffer.from(end)]);
  }

  /** Adds the credentials of the caller to the headers. Precondition: the body is final, because the signature of a webhook covers the body. */
  sign(draft: Draft, caller: string, random: Random): void {
    const { admin, internal, webhooks } = this.#state.target.credentials;
    const { headers, player } = draft;
    const body = draft.body ?? '';
    if (player) headers.push(['Cookie', player.cookie]);
    else if (caller === 'admin' || caller === 'internal')
      headers.push(['Authorization', `Bearer ${caller === 'internal' && random.chance(0.5) ? internal : admin}`]);
    else if (caller === 'basic') headers.push(['Authorization', `Basic ${Buffer.from(`fuzz:${admin}`).toString('base64')}`]);
    else if (caller === 'webhookX') headers.push(...Object.entries(xHeaders(webhooks.x, body)));
    else if (caller === 'webhook') {
      const secret = webhooks[draft.operation.path.startsWith('/integrations') ? 'chat-bridge' : 'payment-status'];
      const id = random.chance(0.2) ? random.pick(KEYS) : `msg_${random.uuid()}`;
      headers.push(...Object.entries(standardHeaders(secret, id, Math.floor(Date.now() / 1_000), body)));
    }
  }
}

function mutateQuery(draft: Draft, random: Random): void {
  const names = [...draft.operation.parameters.filter((one) => one.in === 'query').map((one) => one.name), 'limit', 'offset', 'x'];
  const name = random.pick(names);
  const text = hostileText(random, 8_000).toWellFormed();
  const mutations: readonly (() => void)[] = [
    () => draft.query.push([name, text]),
    () => draft.query.push([name, random.pick(['-1', '0', '501', '1e3', '9007199254740993', '1e400', 'NaN', '', ' 5', '0x10', '5.5', '-0', '٥'])]),
    () => draft.query.push([name, '1'], [name, '2'], [name, text]),
    () => draft.query.push([`${name}[]`, '1'], [`${name}[a]`, text]),
    () => draft.query.push(['__proto__', '1'], ['constructor', text], ['__proto__[isAdmin]', '1']),
    () => draft.query.push(...Array.from({ length: 1_500 }, (_, i): [string, string] => [`k${i}`, '1'])),
    // Adds as many parameters as fit into a request head.
    () => draft.query.push(...Array.from({ length: 6_500 }, (): [string, string] => ['a', ''])),
  ];
  random.pick(mutations)();
}
