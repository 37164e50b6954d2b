import { serve } from '#platform/threads/worker-thread.ts';
import { EpochBuilder } from './builder.ts';

/** Worker thread that builds one epoch. */
serve(new EpochBuilder());
