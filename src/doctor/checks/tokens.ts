import { type Check, type Finding, off, ok, wrong } from '#doctor/check.ts';
import type { App } from '#platform/app.ts';
import type { FetchedAccount } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeMint, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { addressesOfRoles } from './keys.ts';

/** Decimals of USDC on every cluster. Limits and alerts are in base units of these decimals. */
const USDC_DECIMALS = 6;

/** Checks the mints, and the token accounts of the treasury. */
export const mints: Check = {
  name: 'tokens',
  settings: ['SOLANA_RPC_URL', 'REWARD_MINT', 'USDC_MINT', 'TREASURY_ADDRESS', 'TREASURY_KEY'],
  remedy: 'Correct SOLANA_RPC_URL.',
  async run(app) {
    return (await Promise.all([checkToken(app, 'REWARD_MINT'), checkToken(app, 'USDC_MINT')])).flat();
  },
};

async function checkToken(app: App, setting: 'REWARD_MINT' | 'USDC_MINT'): Promise<Finding[]> {
  const { rewardMint, usdcMint, rewardMintMayFreeze } = app.config.chain;
  if ((setting === 'REWARD_MINT' ? rewardMint : usdcMint) === null) return [off(`${setting} is not set; nothing is paid in this token`)];
  const mint = setting === 'REWARD_MINT' ? app.chain.rewardMint : app.chain.usdcMint;
  const treasury = addressesOfRoles(app).find(({ role }) => role === 'treasury');
  const owner = treasury === undefined ? null : app.chain.address('treasury');
  const { accounts } = await app.chain.node.accounts([mint, ...(owner === null ? [] : [associatedTokenAddress(owner, mint)])], 'finalized');
  const decoded = decodeMint(accounts[0] ?? null);
  if (decoded === null) return [wrong(`${setting} ${mint} is not a mint of the SPL token program on this cluster`, `Correct ${setting}.`)];
  const findings: Finding[] = [];
  if (setting === 'USDC_MINT' && decoded.decimals !== USDC_DECIMALS) {
    findings.push(
      wrong(`USDC_MINT has ${decoded.decimals} decimals, but USDC has ${USDC_DECIMALS}`, 'Set USDC_MINT to the mint of USDC on this cluster.'),
    );
  }
  if (setting === 'REWARD_MINT' && decoded.freezable && !rewardMintMayFreeze) {
    const what = 'REWARD_MINT has a freeze authority, which can block claims, so no epoch is opened';
    findings.push(wrong(what, 'Use a mint without a freeze authority, or set REWARD_MINT_MAY_FREEZE=1.'));
  }
  if (owner !== null) findings.push(...checkTreasury(setting, accounts[1] ?? null));
  return findings.length > 0
    ? findings
    : [ok(`${setting} has ${decoded.decimals} decimals${owner === null ? '' : ', and the treasury has a token account'}`)];
}

function checkTreasury(setting: string, account: FetchedAccount): Finding[] {
  const tokens = decodeTokenAccount(account);
  if (tokens === null)
    return [wrong(`the treasury has no token account for ${setting}`, 'Create it with bin/deploy or `spl-token create-account`, and fund it.')];
  if (tokens.frozen) return [wrong(`the treasury's token account for ${setting} is frozen`, 'Ask the freeze authority of the mint to thaw it.')];
  return [];
}
