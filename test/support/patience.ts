/**
 * Factor of all time limits of tests. The limits in the tests suit an idle machine of common speed, and a shared machine may be several times slower. A
 * test that passes never waits for its limit, so the factor costs nothing.
 */
export const PATIENCE = 3;
