import { parseAddress } from '#platform/solana/primitives.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import type { Deployment } from './configuration.ts';
import type { ProgramFile } from './program-file.ts';

/** Owner of the accounts in which a cluster stores its features. */
const FEATURE_PROGRAM = parseAddress('Feature111111111111111111111111111111111111');
/** Features of Agave that a cluster needs for a version of SBPF, the format of programs. */
const GATES: ReadonlyMap<number, { readonly name: string; readonly id: string }> = new Map([
  [3, { name: 'enable_sbpf_v3_deployment_and_execution', id: '5cC3foj77CWun58pC51ebHFUWavHWKarWyR5UUik7dnC' }],
]);
/** Offset of the SBPF version in a program file (e_flags of the ELF header). */
const VERSION_AT = 48;

/**
 * Checks that the RPC node belongs to the configured cluster, and that the cluster executes the programs.
 * @throws with one sentence that says what to do
 */
export async function checkCluster(node: RpcNode, { clusterName, genesisHash }: Deployment, files: readonly ProgramFile[]): Promise<void> {
  const found = await node.genesisHash();
  if (found !== genesisHash)
    throw new Error(
      `cluster is ${clusterName}, but rpcUrl leads to a cluster with the genesis hash ${found}, not ${genesisHash}: correct one of them`,
    );
  for (const { name, bytes } of files) {
    const version = bytes.readUInt32LE(VERSION_AT);
    const gate = GATES.get(version);
    if (!gate) throw new Error(`${name} must have a version of SBPF whose feature is known, not version ${version}`);
    const { account } = await node.account(parseAddress(gate.id), 'finalized');
    // The first byte is 1 when the feature is active. Without an account, nobody has asked for its activation.
    if (!account?.owner.equals(FEATURE_PROGRAM) || account.data[0] !== 1)
      throw new Error(`${name} cannot run on this cluster until its feature ${gate.name} (${gate.id}) is active: repeat the command then`);
  }
}
