import { code } from '@streamdown/code';
import { Streamdown } from 'streamdown';
import { show } from './chat.jsx';

const plugins = { code };

show(({ text }) => <Streamdown plugins={plugins}>{text}</Streamdown>);
