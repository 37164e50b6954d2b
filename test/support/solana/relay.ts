import { claimReward, epochAddress } from '#platform/solana/distributor/index.ts';
import { parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount } from '#platform/solana/tokens.ts';
import { addressOfKey, signed, type TestConnection } from './chain.ts';

/** A leaf with its proof, as `GET /api/rewards/epoch/{epoch}/proof/{wallet}` returns it. */
export interface LeafProof {
  readonly index: number;
  readonly amount: string;
  readonly proof: readonly string[];
}

/** Environment variables of a system with a localnet. */
type SystemEnvironment = Readonly<Record<string, string>>;

export const epochAccountOf = (env: SystemEnvironment, epoch: number) =>
  epochAddress(
    parseAddress(env.DISTRIBUTOR_PROGRAM_ID ?? ''),
    addressOfKey(env.EPOCH_AUTHORITY_KEY),
    parseAddress(env.REWARD_MINT ?? ''),
    BigInt(epoch),
  );

/** Returns the address of the token account from which the claims of an epoch are paid. */
export const vaultOf = (env: SystemEnvironment, epoch: number) =>
  associatedTokenAddress(epochAccountOf(env, epoch), parseAddress(env.REWARD_MINT ?? ''));

/** Claims a leaf directly on the chain, without the service, paid by a stranger. Ignores errors: the service may have claimed the leaf first. */
export async function relayClaim(
  connection: TestConnection,
  env: SystemEnvironment,
  stranger: Signer,
  { wallet, epoch, leaf }: { wallet: string; epoch: number; leaf: LeafProof },
): Promise<void> {
  const [program, mint, owner] = [parseAddress(env.DISTRIBUTOR_PROGRAM_ID ?? ''), parseAddress(env.REWARD_MINT ?? ''), parseAddress(wallet)];
  const instructions = [
    createAssociatedTokenAccount(stranger.publicKey, owner, mint),
    claimReward({
      ...{ program, payer: stranger.publicKey, epochAccount: epochAccountOf(env, epoch), mint, index: leaf.index, wallet: owner },
      ...{ amount: BigInt(leaf.amount), proof: leaf.proof.map((node) => Buffer.from(node, 'hex')) },
    }),
  ];
  try {
    const { blockhash } = await connection.getLatestBlockhash();
    await connection.sendRawTransaction(signed(instructions, [stranger], blockhash).serialize(), { skipPreflight: true });
  } catch {}
}
