import { projectDay as project } from '#areas/rewards';
import type { projectDay as job } from '#jobs/epochs.ts';
import type { Handler } from './handler.ts';

/** Computes what the running day would give. */
export const projectDay: Handler<typeof job> = async (app) => await project(app);
