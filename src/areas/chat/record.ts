import { ACCEPTED_ENTRY, type AcceptedEntry, acceptEntries, type EntryBalance, lockActiveRound } from '#areas/lottery';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Command } from './command.ts';
import { type MessageKey, OWN_CHAT, storeMessages } from './messages.ts';
import { readSanctions, walletAuthor } from './sanctions.ts';

/** A submitted message of the service's own chat, with the new ids of the message and its entry. */
export interface Submission {
  readonly id: string;
  readonly entryId: string;
  readonly wallet: string;
  readonly text: string;
  /** The parsed `!enter` command; null when the message requests no entry. */
  readonly command: Command | null;
  /** The wallet's balance of the token that the active round requires, if any. */
  readonly balance?: EntryBalance | null;
  readonly key: MessageKey | null;
}

/** An accepted message and the entry that it made. */
export interface AcceptedMessage {
  readonly messageId: string;
  readonly entry: AcceptedEntry | null;
}
/** The accepted message, or the reason for the refusal in one sentence. */
export type SubmissionOutcome = AcceptedMessage | { readonly status: 400 | 403 | 409 | 503; readonly error: string };

interface EarlierMessage {
  wallet: string;
  key: string;
  textHash: Buffer;
  messageId: string;
  entry: AcceptedEntry | null;
}
const selectEarlier = statement<EarlierMessage>(
  'select_chat_messages_by_key',
  `select m.wallet, m.idempotency_key as key, m.text_hash as "textHash", m.id::text as "messageId",
     case when e.id is not null then ${ACCEPTED_ENTRY} end as entry
   from unnest($1::text[], $2::text[]) as k(wallet, key)
   join chat_messages m on m.wallet = k.wallet and m.idempotency_key = k.key
   left join entries e on e.id = m.entry left join rounds r on r.id = e.round`,
);

async function readEarlier(db: Queryable, submissions: readonly Submission[]): Promise<EarlierMessage[]> {
  const keyed = submissions.flatMap(({ wallet, key }) => (key ? [{ wallet, name: key.name }] : []));
  if (keyed.length === 0) return [];
  return await db.query(selectEarlier, [keyed.map(({ wallet }) => wallet), keyed.map(({ name }) => name)]);
}

/**
 * Stores a batch of messages and the entries that they request, in their order, in one transaction that waits for the database six times. A refused
 * message is not stored. If any message requests an entry, the transaction first locks the round and holds the lock until the commit, so that entries
 * of all processes are accepted one after the other.
 * @returns one outcome per message, in the order of the messages
 */
export function recordBatch(app: App, submissions: readonly Submission[]): Promise<SubmissionOutcome[]> {
  return app.tx(async (tx) => {
    // The connection sends these statements in this order without waiting for responses, so the transaction waits for the database only once here.
    const [round, sanctionOn, earlier] = await Promise.all([
      submissions.some(({ command }) => command !== null) ? lockActiveRound(tx) : null,
      readSanctions(
        tx,
        submissions.map(({ wallet }) => walletAuthor(wallet)),
      ),
      readEarlier(tx, submissions),
    ]);
    const repeats = findRepeats(submissions, earlier);
    const outcomes = new Map<Submission, SubmissionOutcome>();
    for (const submission of submissions) {
      const repeat = repeats.get(submission);
      if (repeat && 'messageId' in repeat) outcomes.set(submission, replayOutcome(submission, repeat));
      const error = sanctionOn(walletAuthor(submission.wallet));
      if (!repeat && error !== null) outcomes.set(submission, { status: 403, error });
    }
    const fresh = submissions.filter((submission) => !repeats.has(submission) && !outcomes.has(submission));
    for (const [submission, outcome] of await accept(app, tx, round, fresh)) outcomes.set(submission, outcome);
    return submissions.map((submission) => outcomes.get(submission) ?? repeatOutcome(submission, repeats.get(submission), outcomes));
  });
}

/**
 * Finds messages whose idempotency key was used before, in an earlier batch or earlier in this batch.
 * @returns map from each of these messages to the first message with the same key
 */
function findRepeats(submissions: readonly Submission[], earlier: readonly EarlierMessage[]): Map<Submission, EarlierMessage | Submission> {
  const repeats = new Map<Submission, EarlierMessage | Submission>();
  const first = new Map<string, EarlierMessage | Submission>(earlier.map((row) => [`${row.wallet} ${row.key}`, row]));
  for (const submission of submissions) {
    if (!submission.key) continue;
    const name = `${submission.wallet} ${submission.key.name}`;
    const before = first.get(name);
    if (before) repeats.set(submission, before);
    else first.set(name, submission);
  }
  return repeats;
}

const REUSED: SubmissionOutcome = { status: 409, error: 'Idempotency-Key was used before with another text' };

const replayOutcome = ({ key }: Submission, { textHash, messageId, entry }: EarlierMessage): SubmissionOutcome =>
  key?.textHash.equals(textHash) ? { messageId, entry } : REUSED;

/**
 * Returns the outcome of a message whose idempotency key occurs earlier in the same batch: the outcome of the first message with this key, or 409
 * when the texts differ.
 */
function repeatOutcome(
  submission: Submission,
  first: EarlierMessage | Submission | undefined,
  outcomes: ReadonlyMap<Submission, SubmissionOutcome>,
): SubmissionOutcome {
  const outcome = first && 'entryId' in first ? outcomes.get(first) : undefined;
  if (!first || !('entryId' in first) || !outcome) throw new Error('a message has no outcome in its batch');
  return submission.text === first.text ? outcome : REUSED;
}

/** Checks the entries against the round's rules and stores the accepted messages. */
async function accept(
  app: App,
  tx: Tx,
  round: Awaited<ReturnType<typeof lockActiveRound>>,
  submissions: readonly Submission[],
): Promise<[Submission, SubmissionOutcome][]> {
  const entering = submissions.flatMap((submission) => (submission.command ? [{ submission, numbers: submission.command.numbers }] : []));
  const candidates = entering.map(({ submission, numbers }) => ({
    ...{ id: submission.entryId, wallet: submission.wallet, numbers },
    ...{ source: OWN_CHAT, messageId: submission.id, balance: submission.balance ?? null },
  }));
  const acceptances = await acceptEntries(app, tx, round, candidates);
  const results = new Map(entering.map(({ submission }, i) => [submission, acceptances[i]]));
  const outcomes = submissions.map((submission): [Submission, SubmissionOutcome] => {
    const acceptance = results.get(submission);
    if (acceptance && 'status' in acceptance) return [submission, acceptance];
    return [submission, { messageId: submission.id, entry: acceptance?.entry ?? null }];
  });
  await storeMessages(
    tx,
    outcomes.flatMap(([{ id, wallet, text, key }, outcome]) =>
      'status' in outcome ? [] : [{ id, source: OWN_CHAT, wallet, text, key, entry: outcome.entry?.id ?? null }],
    ),
  );
  return outcomes;
}
