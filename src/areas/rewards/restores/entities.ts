import { defineEntity } from '@mikro-orm/core';
import { bigint, boolean, checks, integer, jsonb, text, timestamp } from '#platform/db/columns.ts';

/** Addresses of the keys and mints with which a worker signs. A value is null when the worker does not have it. */
export interface SigningKeys {
  readonly program: string | null;
  readonly rewardMint: string | null;
  readonly usdcMint: string | null;
  readonly feePayer: string | null;
  readonly epochAuthority: string | null;
  readonly treasury: string | null;
  readonly committer: string | null;
}

/** The one row says for which database server and with which keys the service worked last, and why it signs no roots or nothing at all. */
export const ChainRecordTable = defineEntity({
  name: 'ChainRecord',
  tableName: 'chain_record',
  properties: {
    singleton: boolean().primary().default(true),
    /** `systemIdentifier` and `timeline` identify the database server. */
    systemIdentifier: text().nullable(),
    timeline: integer().nullable(),
    keys: jsonb<SigningKeys>().nullable(),
    /** Reason why roots are paused until the chain explains the record; null when they are not paused for this reason. */
    doubt: text().nullable(),
    /** Finalized block height after which nothing can land that was signed before the doubt; null before it was read. */
    afterHeight: bigint().nullable(),
    /** Reason why nothing is signed; null when the keys are those of the record. */
    stop: text().nullable(),
    /** The keys that a worker has instead of `keys`; null when nothing is stopped. */
    otherKeys: jsonb<SigningKeys>().nullable(),
    /** Name of the admin token that last accepted other keys. */
    acceptedBy: text().nullable(),
    checkedAt: timestamp().nullable(),
  },
  checks: checks('singleton'),
});
