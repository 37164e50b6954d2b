import { serve } from '#platform/threads/worker-thread.ts';
import { RoundEvaluator } from './evaluator.ts';

/** The worker thread that evaluates one round. */
serve(new RoundEvaluator());
