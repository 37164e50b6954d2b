import { type AcceptedEntry, acceptEntries, lockActiveRound } from '#areas/lottery';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Command } from './command.ts';
import { type MessageKey, OWN, storeMessages } from './messages.ts';
import { readSanctions, walletAuthor } from './sanctions.ts';

/** A message of our own chat, with the ids that it and its entry are to have. */
export interface Saying {
  readonly id: string;
  readonly entryId: string;
  readonly wallet: string;
  readonly text: string;
  /** null where it asks for nothing. */
  readonly command: Command | null;
  readonly key: MessageKey | null;
}

/** A message that was accepted, with the entry that it made. */
export interface Said {
  readonly messageId: string;
  readonly entry: AcceptedEntry | null;
}
/** Or, in one sentence, why not. */
export type Outcome = Said | { readonly status: 400 | 403 | 409; readonly error: string };

interface Earlier {
  wallet: string;
  key: string;
  textHash: Buffer;
  messageId: string;
  entry: AcceptedEntry | null;
}
const selectEarlier = statement<Earlier>(
  'select_chat_messages_by_key',
  `select m.wallet, m.idempotency_key as key, m.text_hash as "textHash", m.id::text as "messageId",
     case when e.id is not null then json_build_object('round', e.round, 'index', e.index, 'id', e.id, 'wallet', e.wallet, 'numbers', e.numbers, 'source', e.source,
       'messageId', e.message_id, 'at', ${instant('e.at')}) end as entry
   from unnest($1::text[], $2::text[]) as k(wallet, key)
   join chat_messages m on m.wallet = k.wallet and m.idempotency_key = k.key
   left join entries e on e.id = m.entry`,
);

async function readEarlier(db: Queryable, sayings: readonly Saying[]): Promise<Earlier[]> {
  const keyed = sayings.flatMap(({ wallet, key }) => (key ? [{ wallet, name: key.name }] : []));
  if (keyed.length === 0) return [];
  return await db.query(selectEarlier, [keyed.map(({ wallet }) => wallet), keyed.map(({ name }) => name)]);
}

/**
 * Accepts a batch of messages and the entries that they ask for, in their order and in one transaction of six round trips. What is
 * refused leaves no trace. Messages are judged one after the other across all processes where they ask for entries: the round's
 * lock, taken before anything else, is held until the commit.
 * @returns one outcome per message
 */
export function recordBatch(app: App, sayings: readonly Saying[]): Promise<Outcome[]> {
  return app.tx(async (tx) => {
    // One round trip, in this order.
    const [round, sanctionOn, earlier] = await Promise.all([
      sayings.some(({ command }) => command !== null) ? lockActiveRound(tx) : null,
      readSanctions(
        tx,
        sayings.map(({ wallet }) => walletAuthor(wallet)),
      ),
      readEarlier(tx, sayings),
    ]);
    const repeats = findRepeats(sayings, earlier);
    const outcomes = new Map<Saying, Outcome>();
    for (const saying of sayings) {
      const repeat = repeats.get(saying);
      if (repeat && 'messageId' in repeat) outcomes.set(saying, said(saying, repeat));
      const error = sanctionOn(walletAuthor(saying.wallet));
      if (!repeat && error !== null) outcomes.set(saying, { status: 403, error });
    }
    const fresh = sayings.filter((saying) => !repeats.has(saying) && !outcomes.has(saying));
    for (const [saying, outcome] of await accept(tx, round, fresh)) outcomes.set(saying, outcome);
    return sayings.map((saying) => outcomes.get(saying) ?? sameAs(saying, repeats.get(saying), outcomes));
  });
}

/** Which messages came before under their key, in an earlier batch or in this one. */
function findRepeats(sayings: readonly Saying[], earlier: readonly Earlier[]): Map<Saying, Earlier | Saying> {
  const repeats = new Map<Saying, Earlier | Saying>();
  const first = new Map<string, Earlier | Saying>(earlier.map((row) => [`${row.wallet} ${row.key}`, row]));
  for (const saying of sayings) {
    if (!saying.key) continue;
    const name = `${saying.wallet} ${saying.key.name}`;
    const before = first.get(name);
    if (before) repeats.set(saying, before);
    else first.set(name, saying);
  }
  return repeats;
}

const REUSED: Outcome = { status: 409, error: 'Idempotency-Key was used before with another text' };

const said = ({ key }: Saying, { textHash, messageId, entry }: Earlier): Outcome => (key?.textHash.equals(textHash) ? { messageId, entry } : REUSED);

/** What a message is answered with that came twice in one batch: as the first was. */
function sameAs(saying: Saying, first: Earlier | Saying | undefined, outcomes: ReadonlyMap<Saying, Outcome>): Outcome {
  const outcome = first && 'entryId' in first ? outcomes.get(first) : undefined;
  if (!first || !('entryId' in first) || !outcome) throw new Error('a message was left without an answer');
  return saying.text === first.text ? outcome : REUSED;
}

/** Accepts what nothing but the round's rules can keep out, and stores it. */
async function accept(tx: Tx, round: Awaited<ReturnType<typeof lockActiveRound>>, sayings: readonly Saying[]): Promise<[Saying, Outcome][]> {
  const entering = sayings.flatMap((saying) => (saying.command ? [{ saying, numbers: saying.command.numbers }] : []));
  const candidates = entering.map(({ saying, numbers }) => ({
    ...{ id: saying.entryId, wallet: saying.wallet, numbers },
    ...{ source: OWN, messageId: saying.id },
  }));
  const acceptances = await acceptEntries(tx, round, candidates);
  const judged = new Map(entering.map(({ saying }, i) => [saying, acceptances[i]]));
  const outcomes = sayings.map((saying): [Saying, Outcome] => {
    const acceptance = judged.get(saying);
    if (acceptance && 'status' in acceptance) return [saying, acceptance];
    return [saying, { messageId: saying.id, entry: acceptance?.entry ?? null }];
  });
  await storeMessages(
    tx,
    outcomes.flatMap(([{ id, wallet, text, key }, outcome]) =>
      'status' in outcome ? [] : [{ id, source: OWN, wallet, text, key, entry: outcome.entry?.id ?? null }],
    ),
  );
  return outcomes;
}
