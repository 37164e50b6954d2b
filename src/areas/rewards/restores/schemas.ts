import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { KEY_NAMES } from './keys.ts';

const WALLET = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const key = z.string().nullable().meta({ description: 'Address; null when no worker had the key.', example: WALLET });
const Keys = z
  .strictObject({
    program: key,
    rewardMint: key,
    usdcMint: key,
    feePayer: key,
    epochAuthority: key,
    treasury: key,
    committer: key,
  })
  .meta({ id: 'SigningKeys' });
const KeyName = z.enum(KEY_NAMES);
const Kind = z.string().min(1).max(64).meta({ description: 'Type of transactions.', example: 'payout-batch' });

const Contradiction = z
  .strictObject({
    kind: Kind,
    reason: z.string().meta({
      description: 'The statements of both providers about a transaction.',
      example: 'the first RPC node says that 5VER… succeeded in slot 250000000, and the second one at slot 250000040 does not know it',
    }),
    at: Instant,
  })
  .meta({ id: 'ProviderContradiction' });

export const ChainRecordView = z
  .strictObject({
    stop: z.string().nullable().meta({ description: 'Reason why nothing is signed; null when transactions are signed.', example: null }),
    doubt: z
      .string()
      .nullable()
      .meta({ description: 'Reason why roots are paused until the chain is explained; null when they are not.', example: null }),
    afterHeight: Count.nullable().meta({
      description:
        'Finalized block height after which nothing can land that was signed before the doubt; null when it was not read, or there is no doubt.',
      example: null,
    }),
    keys: Keys.nullable().meta({ description: 'The keys and mints that the database records.' }),
    otherKeys: Keys.nullable().meta({ description: 'The keys and mints of the workers while `stop` is set; null otherwise.' }),
    changed: z.array(KeyName).meta({ description: 'Names of the keys that differ.', example: [] }),
    contradictions: z
      .array(Contradiction)
      .meta({ description: 'Transaction kinds that are paused because the RPC providers contradict each other.' }),
  })
  .meta({ id: 'ChainRecord' });

export const AcceptKeysRequest = z
  .strictObject({
    changed: z
      .array(KeyName)
      .min(1)
      .meta({ description: 'Names of all keys that differ, which shows that the operator has seen each of them.', example: ['treasury'] }),
  })
  .meta({ id: 'AcceptKeysRequest' });

export const ResumeKindRequest = z.strictObject({ kind: Kind }).meta({ id: 'ResumeKindRequest' });
