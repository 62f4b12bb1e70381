import ReactMarkdown from 'react-markdown';
import gfm from 'remark-gfm';
import { show } from './chat.jsx';

show(({ text }) => <ReactMarkdown remarkPlugins={[gfm]}>{text}</ReactMarkdown>);
