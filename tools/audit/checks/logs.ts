import { createHash } from 'node:crypto';
import { canonicalize } from '#lib/canonical.ts';
import { checkAudit } from '#platform/auth/audit-log.ts';
import { AT, type Check, Found, recordCheck } from '../check.ts';

const adminAudit: Check = {
  name: 'admin-audit',
  invariant: 'what administrators did is written down as it was: each entry is hashed with the one before',
  live: true,
  async run({ db }) {
    const found = new Found();
    const { fault } = await checkAudit(db);
    if (fault !== null) found.add(fault);
    return found;
  },
};

interface GameRecord {
  readonly id: string;
  readonly place: string;
  readonly record: unknown;
  readonly previous_hash: Buffer;
  readonly hash: Buffer;
}
const PAGE = 1_000;
// Ids grow with time.
const SELECT_RECORDS = `
  select id::text, format('%s of %s in %s', sequence, wallet, game_id) as place, record, previous_hash, hash
  from game_records where id < $1::uuid order by id desc limit ${PAGE}`;

const recordHashes: Check = {
  name: 'record-hashes',
  invariant: 'the newest records of games are what their hashes say',
  live: true,
  async run({ db, scope }) {
    const found = new Found();
    const most = scope.all ? Number.POSITIVE_INFINITY : 10 * scope.sample;
    let last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    for (let read = 0; read < most; read += PAGE) {
      const rows: GameRecord[] = await db.query<GameRecord>({ text: SELECT_RECORDS }, [last]);
      for (const { place, record, previous_hash: previous, hash } of rows) {
        if (!createHash('sha256').update(previous).update(canonicalize(record)).digest().equals(hash))
          found.add(`record ${place} is not what its hash says`);
      }
      last = rows.at(-1)?.id ?? last;
      if (rows.length < PAGE) break;
    }
    return found;
  },
};

/** What is only ever added to. */
export const logChecks = [
  adminAudit,
  recordCheck(
    'record-chains',
    'records of a wallet in a game are numbered without gaps, each naming the hash of the one before',
    `select format('record %s of %s in %s does not follow the one before', sequence, wallet, game_id) as what from (
       select sequence, wallet, game_id, previous_hash, row_number() over chain as n,
         lag(hash, 1, decode(repeat('00', 32), 'hex')) over chain as before
       from game_records window chain as (partition by wallet, game_id order by sequence)) r
     where sequence <> n or previous_hash <> before`,
  ),
  recordHashes,
  recordCheck(
    'webhooks',
    'what came by webhook is worked on within an hour',
    `select format('%s %s waits since %s, after %s tries: %s', source, id, coalesce(replayed_at, received_at), attempts, coalesce(verdict, 'no verdict')) as what
     from webhook_deliveries where state = 'received' and coalesce(replayed_at, received_at) < ${AT} - interval '1 hour'`,
  ),
];
