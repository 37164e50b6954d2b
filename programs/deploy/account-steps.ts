import { DRAWS_BYTES, decodeDraws, drawsAddress, initDraws, rotateCommitter } from '#platform/solana/draws/index.ts';
import { laneAddress, laneOpening } from '#platform/solana/nonce-lanes.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { decodeNonce, NONCE_BYTES } from '#platform/solana/system-program.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  decodeMint,
  decodeTokenAccount,
  TOKEN_ACCOUNT_BYTES,
} from '#platform/solana/tokens.ts';
import { type Deployment, signerOf } from './configuration.ts';
import type { ClusterState } from './state.ts';
import { done, open, type Step } from './step.ts';

/** Returns the lamports that an address lacks for an account of `bytes` bytes. Any wallet can send lamports to an address before its account exists. */
const missingRent = async (state: ClusterState, address: Address, bytes: number): Promise<number> =>
  Math.max(0, (await state.rentOf(bytes)) - (state.account(address)?.lamports ?? 0));

/** Returns the steps that create the token accounts of the treasury. @throws when a mint is not usable */
export async function tokenSteps(state: ClusterState, { deployer, roles, mints }: Deployment): Promise<Step[]> {
  const treasury = roles.treasury.address;
  const steps: Step[] = [];
  for (const [field, mint] of [['reward', mints.reward] as const, ['usdc', mints.usdc] as const]) {
    const token = decodeMint(state.account(mint));
    if (token === null) throw new Error(`mints.${field} must be a mint of the SPL token program on this cluster, and ${mint} is none`);
    if (field === 'reward' && token.freezable && !mints.rewardMayFreeze)
      throw new Error(`mints.reward must have no freeze authority, or mints.rewardMayFreeze must be true`);
    const address = associatedTokenAddress(treasury, mint);
    const title = `create the token account ${address} of the treasury for ${field}`;
    const existing = decodeTokenAccount(state.account(address));
    if (existing && !existing.owner.equals(treasury))
      throw new Error(`roles.treasury must be another key, because its token account ${address} belongs to ${existing.owner}`);
    if (existing) steps.push(done(title));
    else {
      const instructions = [createAssociatedTokenAccount(deployer.publicKey, treasury, mint)];
      steps.push(open(title, await missingRent(state, address, TOKEN_ACCOUNT_BYTES), { instructions, signers: [deployer] }));
    }
  }
  return steps;
}

/**
 * Returns the step that creates the draws account, or replaces its committer.
 * @param mayRotate whether the committer may be replaced
 * @throws when the account has other facts, which can never change
 */
export async function drawsSteps(state: ClusterState, deployment: Deployment, mayRotate: boolean): Promise<Step[]> {
  const { deployer, draws, roles } = deployment;
  const [program, founder, committer] = [draws.program.address, draws.founder.address, roles.committer.address];
  const address = drawsAddress(program, founder);
  const title = `create the draws account ${address}`;
  const facts = decodeDraws(program, state.account(address));
  const wanted = {
    receiptKey: draws.receiptKey.address.toBase58(),
    margin: draws.margin,
    window: draws.window,
    isDevelopment: draws.isDevelopment,
    ...draws.beacon,
  };
  if (facts === null) {
    const key = signerOf(draws.founder, 'the draws account is not created yet');
    const init = initDraws({ program, payer: deployer.publicKey, founder, committer, ...wanted, receiptKey: draws.receiptKey.address });
    return [open(title, await missingRent(state, address, DRAWS_BYTES), { instructions: [init], signers: [deployer, key] })];
  }
  const differing = (Object.keys(wanted) as (keyof typeof wanted)[]).find((name) => facts[name] !== wanted[name]);
  if (differing !== undefined)
    throw new Error(
      `the draws account ${address} has another ${differing} (${facts[differing]}, not ${wanted[differing]}), which can never change: correct the configuration, or set draws.founder to another key`,
    );
  if (facts.committer === committer.toBase58()) return [done(title)];
  if (!mayRotate)
    throw new Error(`the committer of the draws account ${address} is ${facts.committer}, not ${committer}; the option --rotate replaces it`);
  const key = signerOf(draws.founder, 'it signs the replacement of the committer');
  return [
    done(title),
    open(`replace the committer by ${committer}`, 0, { instructions: [rotateCommitter({ program, founder, committer })], signers: [deployer, key] }),
  ];
}

/** Returns the step that opens the nonce accounts of the payout lanes. Without the key of the fee payer, the workers open them when they are needed. */
export async function laneSteps(state: ClusterState, { deployer, roles, payoutLanes }: Deployment): Promise<Step[]> {
  const feePayer = roles.feePayer.address;
  const lanes = Array.from({ length: payoutLanes }, (_, lane) => lane);
  const missing = lanes.filter((lane) => decodeNonce(state.account(laneAddress(feePayer, lane))) === null);
  if (missing.length === 0) return [done(`open ${payoutLanes} payout lanes`)];
  const { signer } = roles.feePayer;
  // The key of the fee payer may be held by a signer, which this command does not ask.
  if (signer === null) return [done(`leave the payout lanes ${missing.join(', ')} to the workers, because roles.feePayer is an address`)];
  const rent = await state.rentOf(NONCE_BYTES);
  const openings = missing.map((lane) =>
    laneOpening({ payer: deployer.publicKey, feePayer, lane }, state.account(laneAddress(feePayer, lane)), rent),
  );
  return [
    {
      state: 'open',
      title: `open the payout lanes ${missing.join(', ')}`,
      rent: openings.reduce((sum, { lamports }) => sum + lamports, 0),
      drafts: openings.map(({ instructions }) => ({ instructions, signers: [deployer, signer] })),
      isSimulated: true,
    },
  ];
}
