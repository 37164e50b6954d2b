import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Address, type Signer, signerFromSeed } from '#platform/solana/primitives.ts';
import type { Deployment, DeploymentKey } from './configuration.ts';

/** A committed program, and how it is deployed. */
export interface ProgramFile {
  /** Name of the file, for messages. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly program: DeploymentKey;
  /** The authority that may replace the program; null makes the program final. */
  readonly upgradeAuthority: Address | null;
  /** Whether a deployed program with other bytes may be replaced. */
  readonly isUpgradeable: boolean;
}

/** Returns the committed programs in the order in which they are deployed. The draws program is always final. */
export function programFiles({ distributor, draws }: Deployment): ProgramFile[] {
  const bytesOf = (name: string) => readFileSync(join(import.meta.dirname, `../${name}/${name}.so`));
  return [
    { name: 'distributor.so', bytes: bytesOf('distributor'), ...distributor, isUpgradeable: true },
    { name: 'draws.so', bytes: bytesOf('draws'), program: draws.program, upgradeAuthority: null, isUpgradeable: false },
  ];
}

/** Derives the key of the buffer account, so that a repeated command continues with the same account. */
export function bufferOf(deployer: Signer, { program, bytes }: Pick<ProgramFile, 'program' | 'bytes'>): Signer {
  const hash = createHash('sha256').update('coinop/buffer/2').update(deployer.secretKey).update(program.address.toBytes()).update(bytes);
  return signerFromSeed(hash.digest());
}
