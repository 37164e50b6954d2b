import { serve } from '#platform/threads/worker-thread.ts';
import { Replayer } from './replayer.ts';

/** Worker thread that runs the replays of a process, one after the other. */
serve(new Replayer());
