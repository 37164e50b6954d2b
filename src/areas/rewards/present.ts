import type { z } from 'zod';
import { FORMULA } from '#lib/allocation.ts';
import { dayStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import type { StoredRules } from './config.ts';
import type { Epoch } from './epochs.ts';
import type { EpochView, RewardsConfig } from './schemas.ts';

/** An epoch as it is answered. */
export function epochView({ createdAt, computedAt, ...epoch }: Epoch): EpochView {
  return { ...epoch, date: dayStart(epoch.epoch).toISOString().slice(0, 10), timestamp: computedAt ?? createdAt };
}

/** The rules as everyone may know them. */
export function configView(app: App, { rules, version }: StoredRules): z.input<typeof RewardsConfig> {
  return {
    version,
    ...rules,
    mint: app.config.chain.rewardMint,
    formulaVersion: FORMULA,
    distribution: {
      period: 'day',
      share:
        'pool × a wallet’s points of the UTC day / all points of the day; regular points that earn rewards count, a total of 0 or less gets nothing',
      cap: 'whose share would reach the cap gets the cap; what is left is shared among the others by their points, until nobody else would reach it',
      rounding:
        'down to whole base units; those left over go to the largest remainders, one each, of equal ones to the address that comes first as text',
      dust: 'amounts below dust are not paid, and not shared out again',
    },
  };
}
