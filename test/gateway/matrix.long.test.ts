import { cellsOf, describeBridge } from './cells.ts';

describeBridge(
  cellsOf([
    ['HTTP', 'HTTP'],
    ['HTTP', 'in process'],
    ['in process', 'HTTP'],
  ]),
);
