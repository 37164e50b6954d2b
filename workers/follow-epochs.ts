import { followEpochs as follow } from '#areas/rewards';
import type { followEpochs as job } from '#jobs/rewards.ts';
import { Refusal } from '#lib/errors.ts';
import type { Handler } from './handler.ts';

/** Learns what has become final of the open epochs. While the chain cannot be asked, the next run does. */
export const followEpochs: Handler<typeof job> = async (app) => {
  try {
    await follow(app);
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    app.log.warn({ err }, 'the chain cannot be asked about the epochs');
  }
};
