import { describeGateway, someGatewayCells } from './gateway-cells.ts';

describeGateway(someGatewayCells);
