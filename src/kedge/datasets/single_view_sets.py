"""The single-view data sets of the paper, and what can be had in place of two of them."""

from kedge.datasets.entry import Dataset, Home, PublicFile

# Files at a fixed commit cannot change.
RMKKM = "https://raw.githubusercontent.com/csliangdu/RMKKM/{commit}/data/{name}"
RMKKM_COMMIT = "d580ac64363b391bf7751f216c52319e629a9dfc"
MNIST_HOMES = ("https://storage.googleapis.com/cvdf-datasets/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/")
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

TREC_LICENCE = "none stated; research use of the TREC collections"
TREC_SOURCE = "TREC documents as packaged with CLUTO (G. Karypis); tf-idf file of csliangdu/RMKKM"
POKER_LICENCE = "CC BY 4.0"
POKER_SOURCE = "R. Cattral, F. Oppacher: Poker Hand, UCI Machine Learning Repository"
POKER_PAGE = "https://archive.ics.uci.edu/dataset/158/poker+hand"
POKER_ROWS = "Each row is a hand of five cards: suit 1-4 and rank 1-13 of each; the classes are the ten kinds of hand"
POKER_TESTING = PublicFile("poker-hand-testing.data", (UCI + "poker/poker-hand-testing.data",))


def _matlab_home(name: str, commit: str = RMKKM_COMMIT) -> Home:
    return Home((PublicFile(name, (RMKKM.format(commit=commit, name=name),)),), "matlab")


def _mnist_file(name: str, sha256: str) -> PublicFile:
    return PublicFile(name, tuple(home + name for home in MNIST_HOMES), sha256)


def _trec(name: str, n_rows: int, width: int, n_clusters: int, n_stored: int, digest: str) -> Dataset:
    public_name = f"{name}_{n_rows}n_{width}d_{n_clusters}c_tfidf_uni.mat"
    return Dataset(
        name=name,
        title=f"{name.upper()} (TREC documents)",
        status="exact",
        n_rows=n_rows,
        widths=(width,),
        n_clusters=n_clusters,
        licence=TREC_LICENCE,
        source=TREC_SOURCE,
        public_home="https://github.com/csliangdu/RMKKM",
        description="Documents as tf-idf of their words, each row of unit length; the classes are topics.",
        file_name=f"{name.upper()}.npz",
        most_stored=(n_stored,),
        digest=digest,
        homes=(_matlab_home(public_name),),
    )


SINGLE_VIEW_SETS = (
    Dataset(
        name="ba",
        title="Binary Alphadigits",
        status="exact",
        n_rows=1404,
        widths=(320,),
        n_clusters=36,
        licence="none stated; offered for research",
        source="S. Roweis: Binary Alphadigits",
        public_home="https://cs.nyu.edu/~roweis/data.html",
        description="Binary images of 20 x 16 pixels, stored column by column, 39 of each digit and capital letter.",
        file_name="BA.npz",
        digest="b281dadb701231bf037449c18cbdc728beb251fe2fc4a5b4e01ba1f1dc65b5c2",
        homes=(
            Home(
                (PublicFile("binaryalphadigs.mat", ("https://cs.nyu.edu/~roweis/data/binaryalphadigs.mat",)),),
                "alphadigits",
            ),
            _matlab_home("binaryalphadigs_1404n_320d_36c.mat", "168c5180a4346e32ea6363d3679b06fe68a785cc"),
        ),
    ),
    Dataset(
        name="orl",
        title="ORL faces, 32 x 32",
        status="exact",
        n_rows=400,
        widths=(1024,),
        n_clusters=40,
        licence="free for research, with credit to AT&T Laboratories Cambridge",
        source="AT&T (Olivetti) faces in 32 x 32 pixels; file of csliangdu/RMKKM",
        public_home="https://github.com/csliangdu/RMKKM",
        description="Grey levels 0-255 of face images, ten of each of 40 persons.",
        file_name="ORL.npz",
        digest="48f28952ca065e7d4c45b8e1029376c108e1358fb4f278e49d591f84c0c6e4d5",
        homes=(_matlab_home("ORL_400n_1024d_40c.mat"),),
    ),
    _trec("tr11", 414, 6429, 9, 114543, "39a69d8efc7bd59511bd0e68c3feb95b51932f5072ffd51a54d8744168c16676"),
    _trec("tr41", 878, 7454, 10, 170631, "44cba5bbd9f4fcdd463a97ae61713bc9b18eb8d6cce7e630c58b54f6f8e86757"),
    _trec("tr45", 690, 8261, 10, 193605, "826f04d73f8a26939948ed9c762fcff39d61d1dc6d4eca8fb931f1a79c93e3b0"),
    Dataset(
        name="rcv1-4",
        title="RCV1, four topics",
        status="not available here",
        n_rows=9625,
        widths=(29992,),
        n_clusters=4,
        licence="agreement with Reuters and NIST",
        source="D. Lewis et al.: RCV1, subset of D. Cai",
        public_home="http://www.cad.zju.edu.cn/home/dengcai/Data/TextData.html",
        description="News stories of the topics C15, ECAT, GCAT and MCAT as word weights.",
        file_name="RCV1-4.npz",
        # A twentieth of all entries, more than word counts ever fill.
        most_stored=(14_433_650,),
        homes=(Home((PublicFile("RCV1_4Class.mat"),), "matlab"),),
        stand_in="tdt2",
        why_not="no copy with a fixed address is known",
    ),
    Dataset(
        name="mnist",
        title="MNIST handwritten digits",
        status="exact",
        n_rows=70000,
        widths=(784,),
        n_clusters=10,
        licence="CC BY-SA 3.0",
        source="Y. LeCun, C. Cortes, C. Burges: MNIST",
        public_home="https://storage.googleapis.com/cvdf-datasets/mnist/",
        description="Grey levels 0-255 of 28 x 28 pixels: 60000 training rows, then 10000 test rows.",
        file_name="MNIST.npz",
        digest="b9fd99c18a2e4f602fd33eabadea65de35d57a4ece61bd0eeb50f33ad213a2c4",
        homes=(
            Home(
                (
                    _mnist_file(
                        "train-images-idx3-ubyte.gz",
                        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    ),
                    _mnist_file(
                        "train-labels-idx1-ubyte.gz",
                        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    ),
                    _mnist_file(
                        "t10k-images-idx3-ubyte.gz",
                        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    ),
                    _mnist_file(
                        "t10k-labels-idx1-ubyte.gz",
                        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    ),
                ),
                "idx",
            ),
        ),
    ),
    Dataset(
        name="covertype",
        title="Covertype",
        status="exact",
        n_rows=581012,
        widths=(54,),
        n_clusters=7,
        licence="CC BY 4.0",
        source="J. Blackard: Covertype, UCI Machine Learning Repository",
        public_home="https://archive.ics.uci.edu/dataset/31/covertype",
        description="Cartography of patches of forest, unscaled: 10 quantities, then 44 columns of 0 and 1; the "
        "classes are kinds of cover.",
        file_name="CoverType.npz",
        digest="fcc0f786769c9b09b4462d434dfe3a262af2eca079f481582718fc5e28490768",
        homes=(
            Home(
                (
                    PublicFile(
                        "covtype.data.gz",
                        (UCI + "covtype/covtype.data.gz", "https://ndownloader.figshare.com/files/5976039"),
                        "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
                    ),
                ),
                "table",
            ),
        ),
    ),
    Dataset(
        name="pokerhand",
        title="Poker Hand, testing file",
        status="exact",
        n_rows=1_000_000,
        widths=(10,),
        n_clusters=10,
        licence=POKER_LICENCE,
        source=POKER_SOURCE,
        public_home=POKER_PAGE,
        description=f"{POKER_ROWS}. Compared with the catalogue by its first 18488 rows and the sizes of its classes, "
        "as no digest of the whole file is known.",
        file_name="Pokerhand.npz",
        leading_digest=(18488, "831d59bf3c1cab146b0f8209b35e435ddbfa5fc26d1e6230a52ebec87e788211"),
        class_sizes=(501209, 422498, 47622, 21121, 3885, 1996, 1424, 230, 12, 3),
        homes=(Home((POKER_TESTING,), "table"),),
        stand_in="pokerhand-synthesised",
    ),
    Dataset(
        name="pokerhand-synthesised",
        title="Poker hands drawn at random",
        status="synthesised",
        n_rows=1_000_000,
        widths=(10,),
        n_clusters=10,
        licence="BSD-3-Clause",
        source="made for kedge",
        public_home="none",
        description=f"{POKER_ROWS}. Drawn uniformly until each class had the size it has in the testing file of Poker "
        "Hand; results compare with that file in distribution only.",
        file_name="Pokerhand_synth.npz",
        digest="5a6fcb733482202224449ab2ae98c48e0bde0584b470790242e2a23568d3c52b",
        why_not="it was made for kedge and is not published on its own",
    ),
    Dataset(
        name="pokerhand-partial",
        title="Poker Hand, training file and the beginning of the testing file",
        status="partial",
        n_rows=43498,
        widths=(10,),
        n_clusters=10,
        licence=POKER_LICENCE,
        source=POKER_SOURCE,
        public_home=POKER_PAGE,
        description=f"{POKER_ROWS}. The 25010 rows of the training file, then the first 18488 of the 1000000 rows of "
        "the testing file.",
        file_name="Pokerhand_real43k.npz",
        digest="1ab2d1e8caa0869c5638a3d7462da4903c3645143f32293e7577cfe1893cdcb3",
        homes=(
            Home(
                (
                    PublicFile("poker-hand-training-true.data", (UCI + "poker/poker-hand-training-true.data",)),
                    POKER_TESTING,
                ),
                "leading rows",
            ),
        ),
    ),
    Dataset(
        name="tdt2",
        title="TDT2, 30 topics",
        status="stand-in",
        n_rows=9394,
        widths=(36771,),
        n_clusters=30,
        licence="agreement with the Linguistic Data Consortium for the texts; word counts are shared for research",
        source="NIST TDT2 corpus, subset of D. Cai; file of Saeidhoseinipour/NMTFcoclust",
        public_home="https://github.com/Saeidhoseinipour/NMTFcoclust",
        description="News stories as raw word counts; the classes are topics. Stands in for rcv1-4, with 30 classes "
        "in place of 4: results are not to be compared with those on RCV1.",
        file_name="TDT2_standin_for_RCV1-4.npz",
        most_stored=(1_224_135,),
        digest="534175b5f64c7e9a6264aa0c329cee00d1b4df0785b20c0fce8d5d183caba419",
        homes=(
            Home(
                (
                    PublicFile(
                        "TDT2.mat",
                        ("https://raw.githubusercontent.com/Saeidhoseinipour/NMTFcoclust/HEAD/Datasets/TDT2.mat",),
                    ),
                ),
                "matlab",
            ),
        ),
    ),
)
