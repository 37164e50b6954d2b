import type { z } from 'zod';
import type { App } from '#platform/app.ts';
import type { Job, Progress } from '#platform/jobs/job.ts';

/** Processes one job. Running a handler twice is harmless, because the handler reads the rows and acts on their current state. Bull Board shows the result. */
export type Handler<J extends Job> = (app: App, payload: z.output<J['payload']>, progress?: Progress) => Promise<unknown>;
