import { readDraws } from '#areas/lottery';
import { type Check, off, ok, warning, wrong } from '#doctor/check.ts';
import { checkDistributor } from '#platform/solana/distributor/index.ts';
import { addressesOfRoles } from './keys.ts';

/** Checks whether the deployed distributor program is the committed one, and who may replace it. */
export const distributor: Check = {
  name: 'distributor',
  settings: ['SOLANA_RPC_URL', 'DISTRIBUTOR_PROGRAM_ID', 'UPGRADE_AUTHORITY'],
  remedy: 'Correct SOLANA_RPC_URL.',
  async run(app) {
    const { programId, upgradeAuthority } = app.config.chain;
    if (programId === null) return [off('DISTRIBUTOR_PROGRAM_ID is not set; no rewards can be claimed')];
    const { isFinal, problem } = await checkDistributor(app);
    if (problem !== null)
      return [
        wrong(`${problem}, so no epoch is opened`, 'Deploy the program or hand its upgrade authority over with bin/deploy, or correct the setting.'),
      ];
    if (isFinal) return [ok(`the distributor program ${programId} is the committed one and final`)];
    const role = addressesOfRoles(app).find(({ address }) => address === upgradeAuthority);
    if (role)
      return [wrong(`${role.setting} may replace the distributor program`, 'Make the program final, or hand its upgrade authority to a multisig.')];
    return [ok(`the distributor program ${programId} is the committed one; UPGRADE_AUTHORITY may replace it`)];
  },
};

/** Checks the draws program and the draws account: bytes, beacon, committer and receipt key. */
export const draws: Check = {
  name: 'draws',
  settings: [
    'SOLANA_RPC_URL',
    'DRAWS_PROGRAM_ID',
    'DRAWS_ADDRESS',
    'COMMITTER_ADDRESS',
    'RECEIPT_KEY',
    'DRAND_URLS',
    'DRAND_CHAIN_HASH',
    'DRAW_LEAD_SEC',
  ],
  remedy: 'Correct the setting that the sentence names; bin/deploy creates the program and the draws account.',
  async run(app) {
    const { drawsProgramId, drawsAddress } = app.config.chain;
    if (drawsProgramId === null || drawsAddress === null) {
      const what = 'DRAWS_PROGRAM_ID or DRAWS_ADDRESS is not set; no round can be started';
      return [app.config.production ? warning(what, 'Deploy them with bin/deploy, and set both.') : off(what)];
    }
    const { account } = await readDraws(app);
    return [ok(`the draws account ${drawsAddress} matches the settings${account.isDevelopment ? '; it is for development' : ''}`)];
  },
};
