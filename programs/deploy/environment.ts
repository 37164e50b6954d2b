import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { drawsAddress } from '#platform/solana/draws/index.ts';
import type { Deployment, DeploymentKey } from './configuration.ts';

/** The setting SIGN_IN_CHAIN of the public clusters. */
const SIGN_IN_CHAINS: Readonly<Record<string, string>> = { 'mainnet-beta': 'mainnet', testnet: 'testnet', devnet: 'devnet' };

/** Returns the settings of the service for a deployment, as the lines of an environment file. It contains paths of keys and no key. */
export function environmentOf(deployment: Deployment): string[] {
  const { clusterName, rpcUrl, distributor, draws, roles, mints, payoutLanes } = deployment;
  const { chainHash } = draws.beacon;
  const signInChain = SIGN_IN_CHAINS[clusterName];
  return [
    '# API and workers',
    `SOLANA_RPC_URL=${rpcUrl}`,
    ...(signInChain === undefined ? [] : [`SIGN_IN_CHAIN=${signInChain}`]),
    `DISTRIBUTOR_PROGRAM_ID=${distributor.program.address}`,
    `UPGRADE_AUTHORITY=${distributor.upgradeAuthority ?? 'none'}`,
    `DRAWS_PROGRAM_ID=${draws.program.address}`,
    `DRAWS_ADDRESS=${drawsAddress(draws.program.address, draws.founder.address)}`,
    `REWARD_MINT=${mints.reward}`,
    ...(mints.rewardMayFreeze ? ['REWARD_MINT_MAY_FREEZE=1'] : []),
    `USDC_MINT=${mints.usdc}`,
    `TREASURY_ADDRESS=${roles.treasury.address}`,
    `COMMITTER_ADDRESS=${roles.committer.address}`,
    `PAYOUT_LANES=${payoutLanes}`,
    ...(chainHash === QUICKNET.chainHash ? [] : [`DRAND_CHAIN_HASH=${chainHash}`, '# DRAND_URLS and DRAND_PUBLIC_KEY: of the same beacon']),
    `# RECEIPT_KEY: the seed of ${draws.receiptKey.address}${draws.receiptKey.file === null ? '' : `, see ${draws.receiptKey.file}`}`,
    '# Workers only',
    keyLine('FEE_PAYER_KEY', roles.feePayer),
    ...(roles.feePayer.file === null ? [`FEE_PAYER_ADDRESS=${roles.feePayer.address}`] : []),
    keyLine('EPOCH_AUTHORITY_KEY', roles.epochAuthority),
    ...(roles.epochAuthority.file === null ? [`EPOCH_AUTHORITY_ADDRESS=${roles.epochAuthority.address}`] : []),
    keyLine('TREASURY_KEY', roles.treasury),
    keyLine('COMMITTER_KEY', roles.committer),
  ];
}

const keyLine = (setting: string, { address, file }: DeploymentKey) =>
  file === null ? `# ${setting}: the file of the key ${address}, or a signer (docs/signers.md)` : `${setting}=${file}`;
