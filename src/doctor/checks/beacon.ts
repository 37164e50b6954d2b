import { type Check, type Finding, ok, reasonOf, warning, wrong } from '#doctor/check.ts';
import { roundAt } from '#lib/draw/beacon-chain.ts';
import { openBeacon } from '#platform/solana/beacon/index.ts';

/** Checks whether each mirror of the beacon serves a valid signature of one recent round. Valid signatures of a round are equal. */
export const beacon: Check = {
  name: 'beacon',
  settings: ['DRAND_URLS', 'DRAND_CHAIN_HASH', 'DRAND_PUBLIC_KEY'],
  remedy: 'Correct DRAND_URLS.',
  async run({ config, clock }) {
    const settings = config.chain.beacon;
    const faults = await Promise.all(
      settings.urls.map(async (url): Promise<string | null> => {
        const mirror = openBeacon({ ...settings, urls: [url] }, clock);
        try {
          // The round before the latest one, because a mirror may receive the latest one a moment later.
          const round = Math.max(1, roundAt(await mirror.chain(), clock.now().getTime()) - 1);
          const result = await mirror.fetchRound(round);
          if (result.state === 'verified') return null;
          return `${new URL(url).host}: ${result.state === 'not-yet' ? 'the beacon has published no round' : result.faults.map(({ fault }) => fault).join('; ')}`;
        } catch (error) {
          return `${new URL(url).host}: ${reasonOf(error)}`;
        }
      }),
    );
    const failed = faults.filter((fault) => fault !== null);
    const findings = failed.map(
      (fault): Finding => warning(`a mirror of the beacon fails: ${fault}`, 'Remove the mirror from DRAND_URLS, or replace it.'),
    );
    if (failed.length < faults.length)
      return [ok(`${faults.length - failed.length} of ${faults.length} mirrors of the beacon answer and agree`), ...findings];
    return [
      wrong(
        `no mirror of the beacon serves a valid round: ${failed.join('; ')}`,
        'Correct DRAND_URLS, or open the network to the mirrors; rounds cannot be drawn.',
      ),
    ];
  },
};
