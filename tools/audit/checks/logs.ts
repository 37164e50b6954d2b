import { createHash } from 'node:crypto';
import { canonicalize } from '#lib/canonical.ts';
import { verifyAdminAudit } from '#platform/auth/audit-log.ts';
import { AT, type Check, DifferenceList, databaseCheck } from '../check.ts';

const adminAudit: Check = {
  name: 'admin-audit',
  invariant: 'the log of administrator actions is unchanged: the hash of each entry includes the previous entry',
  live: true,
  async run({ db }) {
    const found = new DifferenceList();
    const { fault } = await verifyAdminAudit(db);
    if (fault !== null) found.add(fault);
    return found;
  },
};

interface GameRecord {
  readonly id: string;
  readonly place: string;
  readonly salt: Buffer;
  readonly record: unknown;
  readonly content_hash: Buffer;
}
const PAGE = 1_000;
// Ids sort by time, so the largest ids are the newest records. An erased record has no salt and no content.
const SELECT_RECORDS = `
  select id::text, format('%s of %s in %s', sequence, wallet, game_id) as place, salt, record, content_hash
  from game_records where id < $1::uuid and salt is not null order by id desc limit ${PAGE}`;

const recordHashes: Check = {
  name: 'record-hashes',
  invariant: 'the newest game records match their content hashes, unless their content is erased',
  live: true,
  async run({ db, scope }) {
    const found = new DifferenceList();
    const maxRecords = scope.all ? Number.POSITIVE_INFINITY : 10 * scope.sample;
    let last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    for (let read = 0; read < maxRecords; read += PAGE) {
      const rows: GameRecord[] = await db.query<GameRecord>({ text: SELECT_RECORDS }, [last]);
      for (const { place, salt, record, content_hash: hash } of rows) {
        if (!createHash('sha256').update(salt).update(canonicalize(record)).digest().equals(hash))
          found.add(`record ${place} does not match its hash`);
      }
      last = rows.at(-1)?.id ?? last;
      if (rows.length < PAGE) break;
    }
    return found;
  },
};

/** Checks of append-only logs and of the webhook inbox. */
export const logChecks = [
  adminAudit,
  databaseCheck(
    'record-chains',
    'records of a wallet in a game are numbered without gaps, the hash of each covers its content hash and the hash of the previous one, and each erased record has an entry in the log of erasures',
    `select format('record %s of %s in %s does not follow the previous record', sequence, wallet, game_id) as what from (
       select sequence, wallet, game_id, previous_hash, hash, content_hash, row_number() over chain as n,
         lag(hash, 1, decode(repeat('00', 32), 'hex')) over chain as before
       from game_records window chain as (partition by wallet, game_id order by sequence)) r
     where sequence <> n or previous_hash <> before or hash <> sha256(previous_hash || content_hash)
     union all select format('record %s of %s in %s is erased, but the log of erasures does not contain it', sequence, wallet, game_id)
     from game_records r where salt is null and not exists (select from game_record_erasures e where e.record_id = r.id)
     union all select format('record %s of %s in %s is in the log of erasures, but it is not erased', sequence, wallet, game_id)
     from game_record_erasures e join game_records r on r.id = e.record_id where r.salt is not null`,
  ),
  recordHashes,
  databaseCheck(
    'webhooks',
    'webhook deliveries are processed within an hour',
    `select format('%s %s has been waiting since %s, after %s attempts: %s', source, id, coalesce(replayed_at, received_at), attempts, coalesce(verdict, 'no verdict')) as what
     from webhook_deliveries where state = 'received' and coalesce(replayed_at, received_at) < ${AT} - interval '1 hour'`,
  ),
];
