import { createHash } from 'node:crypto';
import { programState, UPGRADEABLE_LOADER } from '#platform/solana/deployed-program.ts';
import { type Address, type Signer, signerFromSeed } from '#platform/solana/primitives.ts';
import { buildTransaction } from '#platform/solana/transactions.ts';
import { type Draft, type LandingOptions, land, withBudget } from './landing.ts';
import { type DeploymentTransaction, deploymentTransactions } from './loader.ts';

interface DeployOptions extends LandingOptions {
  readonly payer: Signer;
  readonly program: Signer;
  readonly bytes: Uint8Array;
  /** The authority that may replace the program; null makes the program final. */
  readonly upgradeAuthority: Address | null;
  print(line: string): void;
}

/** Maximum rounds of writing the missing parts of the buffer. */
const MAX_ROUNDS = 5;

/**
 * Deploys a program. After an interruption, a second call continues with the same buffer account, because its key derives from the program's key and
 * bytes.
 * @throws when the address has another program, or when the cluster rejects the program; then the lamports of the buffer go back to the payer
 */
export async function deployProgram(options: DeployOptions): Promise<void> {
  const { node, payer, program, bytes, upgradeAuthority, print } = options;
  if (await isDeployed(options)) {
    print(`${program.publicKey.toBase58()} is already deployed`);
    return;
  }
  const signers = { payer, program, buffer: bufferOf(program, bytes) };
  const { begin, writes, end, abandon } = await deploymentTransactions({
    ...{ payer: payer.publicKey, buffer: signers.buffer.publicKey, program: program.publicKey },
    ...{ bytes, upgradeAuthority, rent: (size) => node.rentOf(size) },
  });
  const draftOf = ({ instructions, signers: names }: DeploymentTransaction): Draft => ({
    instructions,
    signers: [payer, ...names.flatMap((name) => (name === 'payer' ? [] : [signers[name]]))],
  });
  const buffer = () => node.account(signers.buffer.publicKey, 'confirmed').then(({ account }) => account);

  if ((await buffer()) === null) await land([draftOf(begin)], options, 'confirmed');
  for (let round = 1; ; round++) {
    const account = await buffer();
    if (!account?.owner.equals(UPGRADEABLE_LOADER)) throw new Error(`the buffer ${signers.buffer.publicKey.toBase58()} is not a buffer account`);
    const missing = writes.filter(({ at, chunk }) => !account.data.subarray(at, at + chunk.length).equals(chunk));
    if (missing.length === 0) break;
    if (round > MAX_ROUNDS) throw new Error('the bytes of the program cannot be written');
    print(`writing ${missing.length} of ${writes.length} parts`);
    await land(missing.map(draftOf), options, 'confirmed');
  }

  const refusal = await simulate(options, draftOf(end));
  if (refusal !== null) {
    await land([draftOf(abandon)], options, 'confirmed');
    throw new Error(`the cluster rejects the program, so the buffer was deleted: ${refusal}`);
  }
  await land([draftOf(end)], options, 'finalized');
  if (!(await isDeployed(options))) throw new Error('the program is not deployed');
  print(`deployed ${bytes.length} bytes at ${program.publicKey.toBase58()}${upgradeAuthority ? '' : ', final'}`);
}

/**
 * Returns whether exactly this program is deployed.
 * @throws when the address has other bytes, or when the program should be final and is not
 */
async function isDeployed({ node, program, bytes, upgradeAuthority }: DeployOptions): Promise<boolean> {
  const state = await programState(node, program.publicKey, bytes);
  if (!state) return false;
  if (!state.isEqual) throw new Error(`another program is deployed at ${program.publicKey.toBase58()}`);
  if (state.isFinal !== (upgradeAuthority === null))
    throw new Error(`the program at ${program.publicKey.toBase58()} has ${state.isFinal ? 'no upgrade authority' : 'an upgrade authority'}`);
  return true;
}

/** Derives the key of the buffer account. */
function bufferOf(program: Signer, bytes: Uint8Array): Signer {
  const hash = createHash('sha256').update('coinop/buffer/1').update(program.secretKey).update(bytes);
  return signerFromSeed(hash.digest());
}

/** Simulates a transaction. The cluster checks the program here, for example whether it supports the version of the program. @returns the error */
async function simulate({ node, price }: DeployOptions, draft: Draft): Promise<string | null> {
  const { blockhash } = await node.latestBlockhash('confirmed');
  const { err, logs } = await node.simulate(buildTransaction(draft.signers[0].publicKey, withBudget(draft, price), blockhash), true);
  return err === null ? null : `${JSON.stringify(err)} ${logs?.slice(-3).join(' ') ?? ''}`;
}
