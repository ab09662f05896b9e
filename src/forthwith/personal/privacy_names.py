"""Word lists of the name detectors: frequent given names, titles, and capitalised words that are no surname.

Given names that are everyday English words (Will, Grace, Mark at the start of a sentence …) are left out on purpose:
they raise more false alarms than they catch.
"""

from __future__ import annotations

__all__ = ["CJK_HONORIFICS", "CJK_SURNAMES", "FIRST_NAMES", "NOT_A_SURNAME", "TITLES"]

_FIRST = """
aaron adam adrian ahmed aisha akira alan albert alex alexander alexandra alexis alice alicia alison allen amanda
amber amit amy ana ananya andrea andrew angela angelica anil anita ann anna anne anthony antonio arjun arthur
ashley audrey bao barbara beatrice becky benjamin bernard beth betty beverly bob bobby bonnie brad bradley
brandon brenda brent brian brittany bruce bryan caitlin calvin cameron carl carla carlos carmen carol caroline
carolyn carrie catherine cathy cecilia chad charlene charles charlie charlotte chen cheryl chris christian
christina christine christopher cindy claire clara clarence claudia clifford colin connie corey courtney craig
crystal curtis cynthia dale dan dana daniel danielle danny darlene darrell darren dave david deborah debra
deepak denise dennis derek diana diane donald donna doris dorothy doug douglas dustin dylan earl eddie edgar
edith edna eduardo edward edwin eileen elaine eleanor elena elizabeth ella ellen emily emma eric erica erik erin
ernest ethan ethel eugene eva evan evelyn fatima felicia fernando florence frances francis francisco fred
frederick gabriel gail gary geoff george gerald gilbert gina gladys glen glenn gloria gordon greg gregory hannah
harold harry hassan heather hector heidi helen henry herbert hiroshi holly howard hugh ian ibrahim imran irene
isaac isabel ivan jackie jacob jacqueline jaime jake james jamie jane janet janice jared jason javier jay
jean jeff jeffrey jen jenna jennifer jenny jeremy jerome jerry jesse jessica jesus jill jim jimmy jin joan joann
joanna jody joe joel john johnny jon jonathan jordan jorge jose joseph joshua joyce juan juanita judith judy
julia julian julie justin karen karl kate katherine kathleen kathryn kathy katie kavita kayla keith kelly
kelsey ken kenji kenneth kevin kim kimberly kirk kristen kristin kristina kyle lakshmi larry laura lauren laurie
lawrence leah lee lei leo leon leonard leroy leslie lewis lillian linda lindsay lindsey ling lisa lloyd logan
lois lori louis louise lucas lucille luis luke lynn madison manuel marc marcia marcus margaret maria marie
marilyn mario marion marjorie marsha martha martin marvin mary matt matthew maureen maurice max megan mei
melanie melissa melvin michael michele michelle miguel mike mildred ming mitchell mohamed mohammed molly monica
morgan muhammad nancy natalie natasha nathan nathaniel neha neil nguyen nicholas nick nicole nina nora norma
norman olivia omar oscar pablo pamela patricia patrick paul paula pauline pedro peggy peter phil philip phillip
phyllis priscilla priya rachel rahul raj rajesh ralph ramon randall randy raul ravi raymond rebecca regina renee
rhonda ricardo richard rick ricky rita rob robert roberta roberto robin rodney roger roland ron ronald rosa
rosemary ross roy russell ruth ryan sabrina sally salvador sam samantha samuel sandra sanjay sanjeev sara sarah
scott sean sergei sergio shannon sharon shawn sheila shelly sherry shirley sidney sofia sonia sophia stacey
stacy stanley stella stephanie stephen steve steven stuart sue sunil suresh susan suzanne sylvia takeshi tamara
tammy tanya tara ted teresa terri terry thelma theodore theresa thomas tiffany tim timothy tina todd tom tommy
toni tony tracey tracy travis troy tyler valerie vanessa vera vernon veronica vicki vickie victor victoria vijay
vincent virginia vivian wallace walter wanda warren wayne wei wendy wesley william willie xin yan ying yolanda
yuki yusuf yvonne zachary
"""

_NO_SURNAME = """
a action an and april are as at august avenue baby bakery bar bcc beauty boulevard brand but cafe café can cat
cats cc center centre church city coffee college company company's corp could county court dad day december deli
department diner dog dogs drive event february food foods for foundation friday from fw fwd grill group had has
hated hates have he her his home hospital house how i if in inc incoming institute is it its january july june
kids kitchen lane liked likes llc loved loves march market may mom monday month morning my no not november
october of on or our park pet pizza pizzeria place product products proposed re request restaurant road said
saturday says school september she shop should so square state store street subject sunday supplies supply tea
team that the these they this those thursday to tuesday university was we wednesday week were what when where
who why will with would year yes you your
"""

FIRST_NAMES = frozenset(_FIRST.split())
"""Lower-cased given names that make `Given Surname` a person."""

TITLES = ("Mr", "Mrs", "Ms", "Miss", "Dr", "Prof", "Professor", "Sir", "Madam", "Rev", "Hon", "Capt", "Sgt")

NOT_A_SURNAME = frozenset(_NO_SURNAME.split())
"""Lower-cased capitalised words that never are the surname after a given name."""

CJK_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蔡蒋余"
    "于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯"
    "龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
"""Frequent Chinese surnames of one character."""

CJK_HONORIFICS = ("先生", "女士", "小姐", "太太", "老师", "医生", "经理", "教授", "同学", "律师", "师傅", "主任")
