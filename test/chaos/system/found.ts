import { createHash } from 'node:crypto';
import type { Client } from './client.ts';
import type { Confirmed } from './confirmed.ts';
import type { Database, Told } from './database.ts';

/** How much is said of each kind. */
const MOST = 5;

type Row = { readonly [column: string]: string | number | null };

/** What is compared: rows that must be there, and their SQL with the ids in $1. */
interface Comparison {
  readonly what: string;
  readonly sql: string;
  readonly due: readonly (Row & { readonly id: string })[];
}

/** What was confirmed and is not in the record as it was confirmed. */
export async function lost(database: Database, confirmed: Confirmed, events: readonly Told[]): Promise<string[]> {
  const found: string[] = [];
  for (const comparison of comparisons(confirmed)) found.push(...(await differences(database, comparison)));
  found.push(...twice(confirmed), ...untold(confirmed, events));
  return found;
}

function comparisons(confirmed: Confirmed): Comparison[] {
  const { plays, scores, messages, entries, claims, tickets, deliveries, tasks, clips } = confirmed;
  return [
    {
      what: 'play',
      sql: 'select id::text, wallet from plays where id = any($1::uuid[])',
      due: plays.map(({ playId, wallet }) => ({ id: playId, wallet })),
    },
    {
      what: 'score',
      sql: `select id::text, wallet, play_id::text as play, normalized, points, battle_id::text as battle, status from scores where id = any($1::uuid[])`,
      due: scores.map((s) => ({
        ...{ id: s.scoreId, wallet: s.wallet, play: s.playId, normalized: s.normalized, points: s.points, battle: s.battleId, status: 'accepted' },
      })),
    },
    {
      what: 'chat message',
      sql: 'select id::text, wallet, text from chat_messages where id = any($1::uuid[])',
      due: messages.map(({ messageId, wallet, text }) => ({ id: messageId, wallet, text })),
    },
    {
      what: 'entry',
      sql: 'select id::text, wallet, round::text, index from entries where id = any($1::uuid[])',
      due: entries.map(({ id, wallet, round, sequence }) => ({ id, wallet, round, index: sequence })),
    },
    {
      what: 'claim',
      sql: 'select id::text, wallet, epoch, state from claims where id = any($1::uuid[])',
      due: claims.map(({ claimId, wallet, epoch }) => ({ id: claimId, wallet, epoch, state: 'claimed' })),
    },
    {
      what: 'ticket',
      sql: `select id::text, wallet, round::text, signature, case when state = 'refunded' then 'confirmed' else state end as state from tickets where id = any($1::uuid[])`,
      due: tickets
        .filter(({ final }) => final)
        .map((t) => ({ id: t.ticketId, wallet: t.wallet, round: t.round, signature: t.signature, state: 'confirmed' })),
    },
    {
      what: 'asked ticket',
      sql: 'select id::text, wallet, signature from tickets where id = any($1::uuid[])',
      due: tickets.map((t) => ({ id: t.ticketId, wallet: t.wallet, signature: t.signature })),
    },
    {
      what: 'delivery',
      sql: `select d.id, d.state, (select count(*)::int from chat_messages m where m.source = 'twitch' and m.source_id = convert_from(d.body, 'utf8')::json->>'messageId') as shown
        from webhook_deliveries d where d.source = 'chat-bridge' and d.id = any($1::text[])`,
      due: deliveries.map(({ id }) => ({ id, state: 'worked', shown: 1 })),
    },
    {
      what: 'completed task',
      sql: `select q.wallet || ' ' || q.quest_id as id, q.points::int, (select count(*)::int from ledger l where l.wallet = q.wallet and l.kind = 'quest' and l.source_id like q.quest_id || ':%') as given
        from quest_completions q where q.wallet || ' ' || q.quest_id = any($1::text[])`,
      due: tasks.map(({ wallet, taskId, points }) => ({ id: `${wallet} ${taskId}`, points, given: 1 })),
    },
    {
      what: 'clip',
      sql: 'select id::text, wallet, state from clips where id = any($1::uuid[])',
      due: clips.map(({ id, wallet }) => ({ id, wallet, state: 'ready' })),
    },
  ];
}

async function differences(database: Database, { what, sql, due }: Comparison): Promise<string[]> {
  const rows = await database.rows<Row & { id: string }>(sql, [due.map(({ id }) => id)]);
  const stored = Map.groupBy(rows, ({ id }) => id);
  return few(
    due.flatMap((one) => {
      const there = stored.get(one.id) ?? [];
      const isAsDue = there.length === 1 && Object.entries(one).every(([column, value]) => there[0]?.[column] === value);
      return isAsDue ? [] : [`${what} ${JSON.stringify(one)} was confirmed, the record has ${JSON.stringify(there)}`];
    }),
  );
}

/** What a client asked for once and has twice: `by` is what names one request in the record. */
const ONCE: readonly { readonly what: string; readonly from: string; readonly by: string }[] = [
  { what: 'a play has several scores', from: 'scores where play_id is not null', by: 'play_id' },
  {
    what: 'a message was said several times',
    from: `chat_messages where source = 'chat' and text not in ('!enter', 'the last word')`,
    by: `wallet || ' ' || text`,
  },
  { what: 'a message of a bridge is there several times', from: `chat_messages where source <> 'chat'`, by: `source || ' ' || source_id` },
  {
    what: 'a wallet is in a round several times',
    from: `entries e join rounds r on r.id = e.round and r.kind = 'chat'`,
    by: `e.round || ' ' || e.wallet`,
  },
  { what: 'a transaction pays for several tickets', from: `tickets where state in ('confirmed', 'refunded')`, by: 'signature' },
  { what: 'a leaf has several claims', from: 'claims', by: `epoch || ' ' || index` },
  { what: 'a completion gave points several times', from: `ledger where kind = 'quest'`, by: `wallet || ' ' || source_id` },
];

/** What was done more often than it was asked for. */
export async function doubled(database: Database): Promise<string[]> {
  const counts = ONCE.map(({ what, from, by }) => `select '${what}: ' || (${by}) as what from ${from} group by ${by} having count(*) > 1`);
  return few((await database.rows<{ what: string }>(counts.join(' union all '))).map(({ what }) => what));
}

/** One play is one score, one number of a round one entry, one leaf one claim, one file one clip. */
function twice({ scores, entries, claims, messages, clips }: Confirmed): string[] {
  const repeated = (what: string, names: readonly string[]) =>
    [...Map.groupBy(names, (name) => name)]
      .filter(([, all]) => all.length > 1)
      .map(([name, all]) => `${what} ${name} was confirmed ${all.length} times`);
  return few([
    ...repeated(
      'a score of play',
      scores.map(({ playId }) => playId),
    ),
    ...repeated(
      'score',
      scores.map(({ scoreId }) => scoreId),
    ),
    ...repeated(
      'message',
      messages.map(({ messageId }) => messageId),
    ),
    ...repeated(
      'entry',
      entries.map(({ round, sequence }) => `${round}/${sequence}`),
    ),
    ...repeated(
      'claim',
      claims.map(({ claimId }) => claimId),
    ),
    ...repeated(
      'clip',
      clips.map(({ id }) => id),
    ),
  ]);
}

/** What was confirmed is an event, once. */
function untold({ scores, messages, entries, claims }: Confirmed, events: readonly Told[]): string[] {
  const told = new Map<string, number>();
  for (const { type, payload } of events) {
    const names = type === 'score_update' ? (payload.updates ?? []).map(({ scoreId }) => scoreId) : nameOf(type, payload);
    for (const name of names) told.set(`${type} ${name}`, (told.get(`${type} ${name}`) ?? 0) + 1);
  }
  const due = [
    ...scores.map(({ scoreId }) => `score_update ${scoreId}`),
    ...messages.map(({ messageId }) => `chat_message ${messageId}`),
    ...entries.map(({ id }) => `new_entry ${id}`),
    ...claims.map(({ claimId }) => `claim_confirmed ${claimId}`),
  ];
  return few(due.flatMap((name) => (told.get(name) === 1 ? [] : [`${name} was confirmed, and is in ${told.get(name) ?? 0} events`])));
}

function nameOf(type: string, payload: Told['payload']): string[] {
  if (type === 'chat_message') return [String(payload.messageId)];
  if (type === 'new_entry') return [String(payload.entryId)];
  return type === 'claim_confirmed' && payload.final === true ? [String(payload.claimId)] : [];
}

interface ShownBattle {
  readonly status: string;
  readonly winners: readonly string[];
  readonly participants: readonly { readonly wallet: string; readonly score: number | null; readonly scores: number }[];
}

/** What the routes show of what was confirmed. */
export async function hidden(
  client: Client,
  clientOf: (cookie: string) => Client,
  { sessions, signedOut, clips, battles, scores, entries }: Confirmed,
): Promise<string[]> {
  const found: string[] = [];
  for (const { wallet, cookie } of sessions) {
    const { status, body } = await clientOf(cookie).ask<{ wallet?: string }>('/me');
    if (status !== 200 || body.wallet !== wallet) found.push(`${wallet} was signed in, and /me says ${status} ${JSON.stringify(body)}`);
  }
  for (const { wallet, cookie } of signedOut) {
    const { status } = await clientOf(cookie).ask('/me');
    if (status !== 401) found.push(`${wallet} signed out, and /me says ${status}`);
  }
  for (const { id, sha256 } of clips) {
    const bytes = await fetch(`${client.nextUrl()}/clips/${id}/media`).then((response) => response.bytes());
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) found.push(`clip ${id} is not what was uploaded`);
  }
  for (const { battleId } of battles) {
    const { body } = await client.ask<ShownBattle>(`/battle/${battleId}`);
    const own = scores.filter((score) => score.battleId === battleId);
    const best = Math.max(...own.map(({ normalized }) => normalized));
    const winners = own.filter(({ normalized }) => normalized === best).map(({ wallet }) => wallet);
    const isRight =
      own.every(({ wallet, normalized }) =>
        body.participants.some((seat) => seat.wallet === wallet && seat.score === normalized && seat.scores === 1),
      ) &&
      (own.length < 2 || (body.status === 'finished' && winners.toSorted().join() === [...body.winners].sort().join()));
    if (!isRight) found.push(`battle ${battleId} with ${JSON.stringify(own)} is shown as ${JSON.stringify(body)}`);
  }
  for (const [round, own] of Map.groupBy(entries, (entry) => entry.round)) {
    const { body } = await client.ask<{ entryHashes: readonly string[] }>(`/chat/round/${round}/audit`);
    for (const { id, sequence, leaf } of own) {
      if (body.entryHashes[sequence] !== leaf) found.push(`entry ${id}, number ${sequence} of round ${round}, is not what its receipt says`);
    }
  }
  return few(found);
}

const few = (found: readonly string[]): string[] => (found.length > MOST ? [...found.slice(0, MOST), `and ${found.length - MOST} more`] : [...found]);
