import { programDataAddress } from '#platform/solana/deployed-program.ts';
import { drawsAddress } from '#platform/solana/draws/index.ts';
import { laneAddress } from '#platform/solana/nonce-lanes.ts';
import type { Address, FetchedAccount } from '#platform/solana/primitives.ts';
import type { Commitment, RpcNode } from '#platform/solana/rpc-node.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import type { Deployment } from './configuration.ts';
import { bufferOf, type ProgramFile } from './program-file.ts';

/** The state of every account that a deployment concerns, all read at one slot. */
export interface ClusterState {
  readonly slot: number;
  account(address: Address): FetchedAccount;
  /** Returns the rent-exempt minimum balance of an account of `bytes` bytes, lamports. */
  rentOf(bytes: number): Promise<number>;
}

/** Reads the accounts of a deployment with one request. They are at most 77: 13 and the lanes. */
export async function readState(
  node: RpcNode,
  deployment: Deployment,
  files: readonly ProgramFile[],
  commitment: Commitment,
  rentOf: ClusterState['rentOf'],
): Promise<ClusterState> {
  const { deployer, draws, roles, mints, payoutLanes } = deployment;
  const addresses = [
    deployer.publicKey,
    ...files.flatMap((file) => [file.program.address, programDataAddress(file.program.address), bufferOf(deployer, file).publicKey]),
    mints.reward,
    mints.usdc,
    associatedTokenAddress(roles.treasury.address, mints.reward),
    associatedTokenAddress(roles.treasury.address, mints.usdc),
    drawsAddress(draws.program.address, draws.founder.address),
    ...Array.from({ length: payoutLanes }, (_, lane) => laneAddress(roles.feePayer.address, lane)),
  ];
  const { slot, accounts } = await node.accounts(addresses, commitment);
  const found = new Map(addresses.map((address, i) => [address.toBase58(), accounts[i] ?? null]));
  return { slot, account: (address) => found.get(address.toBase58()) ?? null, rentOf };
}
