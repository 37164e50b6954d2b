import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { batching } from '#lib/batching.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { countWithin, type Limit } from '#platform/auth/rate-limit.ts';
import { HOW_TO_ENTER, readCommand } from './command.ts';
import { OWN } from './messages.ts';
import { type Outcome, recordBatch, type Said, type Saying } from './record.ts';
import type { Author } from './sanctions.ts';

/** What arrives while a batch commits is the next one: under load batches are large, and each costs about as much as a message alone. */
const BATCHES = { most: 500, flights: 1, lingerMs: 1 };

/** How many messages an author may send; entries are messages. */
export const limitOf = (app: Pick<App, 'config'>): Limit => ({ name: 'chat', most: app.config.chatMessagesPer10Sec, windowMs: 10_000 });

/** Whom a limit counts. */
export const nameOf = ({ source, account }: Author): string => `${source}:${account}`;

interface Waiting {
  readonly saying: Saying;
  outcome?: Outcome | { readonly failure: unknown } | undefined;
}

const submitters = new WeakMap<App, (waiting: Waiting) => Promise<void>>();

function submitter(app: App): (waiting: Waiting) => Promise<void> {
  let submit = submitters.get(app);
  if (!submit) {
    submit = batching<Waiting>(async (batch) => {
      const outcomes = await recordAll(
        app,
        batch.map(({ saying }) => saying),
      );
      for (const [i, waiting] of batch.entries()) waiting.outcome = outcomes[i];
    }, BATCHES);
    submitters.set(app, submit);
  }
  return submit;
}

/**
 * Says something in our own chat, and enters the active round if that is what it says.
 * @param text one line, trimmed
 * @throws 400 for malformed entries and wrong numbers, 403 muted or banned, 409 where no round takes the entry, 429 too often
 */
export async function say(app: App, wallet: string, text: string, idempotencyKey: string | null): Promise<Said> {
  const command = readCommand(text);
  if (command === 'malformed') throw fail(400, HOW_TO_ENTER);
  await countWithin(app, limitOf(app), nameOf({ source: OWN, account: wallet }));
  const key = idempotencyKey === null ? null : { name: idempotencyKey, textHash: createHash('sha256').update(text).digest() };
  const waiting: Waiting = { saying: { id: newId(), entryId: newId(), wallet, text, command, key } };
  await submitter(app)(waiting);
  const { outcome } = waiting;
  if (!outcome) throw new Error('a message was left without an outcome');
  if ('failure' in outcome) throw outcome.failure;
  if ('status' in outcome) throw fail(outcome.status, outcome.error);
  return outcome;
}

/** Somebody else's transaction was in the way, and this one is gone: serialization, deadlock, a key or number that was just taken. */
const GAVE_WAY = new Set(['40001', '40P01', '23505']);
const MOST_TRIES = 4;
/** What a statement was given is at fault, and its transaction is gone. */
const AT_FAULT = /^(?:22|23|P0)...$/;

const sqlState = (error: unknown): string => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '');

/**
 * Records messages, whatever is wrong with some of them: a batch that gave way is tried again, one that cannot be recorded in
 * halves, so that only those fail that are at fault. Nothing is tried again whose transaction may have committed.
 * @returns one outcome per message
 */
export async function recordAll(app: App, sayings: readonly Saying[]): Promise<(Outcome | { readonly failure: unknown })[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await recordBatch(app, sayings);
    } catch (error) {
      const state = sqlState(error);
      const gaveWay = GAVE_WAY.has(state);
      if (gaveWay && tries < MOST_TRIES) {
        await sleep(Math.random() * 10 * tries);
        continue;
      }
      const isAtFault = gaveWay || AT_FAULT.test(state);
      if (!isAtFault || sayings.length === 1) return sayings.map(() => ({ failure: error }));
      const middle = Math.ceil(sayings.length / 2);
      return [...(await recordAll(app, sayings.slice(0, middle))), ...(await recordAll(app, sayings.slice(middle)))];
    }
  }
}
