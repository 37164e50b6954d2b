import type { z } from 'zod';
import { FORMULA } from '#lib/allocation.ts';
import { dayStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import type { StoredRules } from './config.ts';
import type { Epoch } from './epochs/epochs.ts';
import type { EpochView, RewardsConfig } from './schemas.ts';

/** Converts an epoch to the form that the API returns. */
export function epochView({ createdAt, computedAt, ...epoch }: Epoch): EpochView {
  return { ...epoch, date: dayStart(epoch.epoch).toISOString().slice(0, 10), timestamp: computedAt ?? createdAt };
}

/** Converts reward rules to the form that the API returns, with the reward token and a description of the formula. */
export function configView(app: App, { rules, version }: StoredRules): z.input<typeof RewardsConfig> {
  return {
    version,
    ...rules,
    reviewHours: app.config.reviewHours,
    mint: app.config.chain.rewardMint,
    formulaVersion: FORMULA,
    distribution: {
      period: 'day',
      share:
        'pool × points of the wallet on the UTC day / points of all wallets on that day; only regular points that earn rewards count; a wallet with 0 or fewer points gets nothing',
      cap: 'a wallet whose share would reach the cap gets the cap; the rest is shared among the other wallets by points; this repeats until no other wallet reaches the cap',
      rounding:
        'down to whole base units; the remaining units go, one each, to the largest remainders; of equal remainders, to the address that is first in text order',
      dust: 'amounts below dust are not paid and not distributed to other wallets',
      exclusions:
        'wallets that are banned, that do not meet minPlayDays or minAcceptedScores, or that an operator excludes before the root is signed get nothing, and their points are not counted; /api/rewards/epoch/{epoch}/exclusions lists them with the reasons',
    },
  };
}
