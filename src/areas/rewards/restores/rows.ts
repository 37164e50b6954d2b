import type { DatabaseIdentity } from '#areas/payouts';
import { statement } from '#platform/db/sql.ts';
import type { SigningKeys } from './entities.ts';

/** The row of `chain_record`. */
export interface ChainRecord {
  system: string | null;
  timeline: number | null;
  keys: SigningKeys | null;
  doubt: string | null;
  afterHeight: number | null;
  stop: string | null;
  otherKeys: SigningKeys | null;
}

const COLUMNS = `system_identifier as system, timeline, keys, doubt, after_height::float8 as "afterHeight", stop, other_keys as "otherKeys"`;
export const selectRecord = statement<ChainRecord>('select_chain_record', `select ${COLUMNS} from chain_record`);
export const lockRecord = statement<ChainRecord>('lock_chain_record', `select ${COLUMNS} from chain_record for update`);
const update = statement(
  'update_chain_record',
  `update chain_record set system_identifier = $1, timeline = $2::int, keys = $3::jsonb, doubt = $4, after_height = $5::int8, stop = $6,
     other_keys = $7::jsonb, checked_at = app_now()`,
);
export const acceptKeys = statement(
  'accept_chain_keys',
  'update chain_record set keys = other_keys, stop = null, other_keys = null, accepted_by = $1 where stop is not null',
);

const stored = (keys: SigningKeys | null) => (keys === null ? null : JSON.stringify(keys));

/** Returns the statement and the values that store a record. */
export const storeRecord = (record: ChainRecord) => {
  const { system, timeline, keys, doubt, afterHeight, stop, otherKeys } = record;
  return [update, [system, timeline, stored(keys), doubt, afterHeight, stop, stored(otherKeys)]] as const;
};

/** Returns whether a record was written on the same database server. It is true when one of both is not known. */
export const isSameServer = (record: ChainRecord, identity: DatabaseIdentity | null): boolean =>
  identity === null || record.system === null || (record.system === identity.system && record.timeline === identity.timeline);
