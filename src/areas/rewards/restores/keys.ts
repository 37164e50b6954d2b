import type { App } from '#platform/app.ts';
import type { SigningKeys } from './entities.ts';

/** The setting of each key, for sentences to operators. */
const SETTINGS = {
  program: 'DISTRIBUTOR_PROGRAM_ID',
  rewardMint: 'REWARD_MINT',
  usdcMint: 'USDC_MINT',
  feePayer: 'FEE_PAYER_KEY',
  epochAuthority: 'EPOCH_AUTHORITY_KEY',
  treasury: 'TREASURY_KEY',
  committer: 'COMMITTER_KEY',
} as const satisfies Record<keyof SigningKeys, string>;

export const KEY_NAMES = Object.keys(SETTINGS) as (keyof SigningKeys)[];

const ROLES = ['feePayer', 'epochAuthority', 'treasury', 'committer'] as const;

/** Returns the addresses of the keys and mints of this process. */
export function keysOf(app: App): SigningKeys {
  const { programId, rewardMint, usdcMint, secrets } = app.config.chain;
  const [feePayer = null, epochAuthority = null, treasury = null, committer = null] = ROLES.map((role) =>
    secrets[role] === null ? null : app.chain.key(role).publicKey.toBase58(),
  );
  return { program: programId, rewardMint, usdcMint, feePayer, epochAuthority, treasury, committer };
}

/** Returns the names of the keys that differ. A key that one side does not have does not differ. */
export const differingKeys = (recorded: SigningKeys, present: SigningKeys): (keyof SigningKeys)[] =>
  KEY_NAMES.filter((name) => recorded[name] !== null && present[name] !== null && recorded[name] !== present[name]);

/** Returns the recorded keys, replaced by those that this process has. */
export function mergeKeys(recorded: SigningKeys | null, present: SigningKeys): SigningKeys {
  const merge = (name: keyof SigningKeys) => present[name] ?? recorded?.[name] ?? null;
  return {
    program: merge('program'),
    rewardMint: merge('rewardMint'),
    usdcMint: merge('usdcMint'),
    feePayer: merge('feePayer'),
    epochAuthority: merge('epochAuthority'),
    treasury: merge('treasury'),
    committer: merge('committer'),
  };
}

/**
 * Returns the sentence that says which keys differ from those of the restored database, and how to continue.
 * @param wereUsed whether the chain proves that the present keys were used after the backup, so that the recorded ones are too old
 */
export function stopSentence(recorded: SigningKeys, present: SigningKeys, names: readonly (keyof SigningKeys)[], wereUsed: boolean): string {
  const changes = names.map((name) => `${SETTINGS[name]} is ${present[name]}, but ${recorded[name]} in the database`);
  const way = wereUsed ? '' : 'the workers run with the recorded settings or ';
  return `the database was restored or failed over, and ${changes.join(', and ')}; nothing is signed until ${way}an operator accepts the new ones with POST /admin/chain/accept-keys`;
}
